"""General words of rewordings: what a statement in written English says for a word of talk. English."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from anaphora.rules.language.stems import stem

#: a word of a statement, and words of a source that say it
_FOR: Final = """
exam: final midterm test viva oral paper | examination: exam final test | visit: took went see go trip drop
attend: guest go went came there class | attendee: guest | guest: attend people | focus: special theme main
specialise: focus special | theme: topic about | topic: about theme | subject: about topic | opening: open
closing: close shut | resign: notice quit left | notice: quit resign | register: sign enter enrol enroll join
enrol: sign register start join | enroll: sign register start join | sign: register join | join: sign start member
member: join belong club team | minimum: least | maximum: most max limit up | limit: max most cap under within
approximately: about around roughly some ish | roughly: about around half some | nearly: almost
currently: now still present | raise: brought bring up increase rais made | increase: up raise more grow rise
reduce: down less cut lower fewer drop | decrease: down less cut lower drop | lower: down reduce cut
shorten: cut short less trim | extend: long more add | exceed: more over above | postpone: push delay move put later
delay: late push postpone | cancel: off call drop end | terminate: end cancel stop quit
end: cancel finish stop over last | contract: membership subscription deal sign agreement
subscription: membership cancel sign monthly | deadline: due by until hand submit | due: deadline by hand submit
submit: hand send turn due | schedule: on at plan set appointment | appointment: see at on | take: on get
hold: throw have | host: throw have | organise: plan set run throw | arrange: plan set book | reserve: book
book: reserve order | offer: want quote propose | propose: suggest offer
decide: go went settle chose pick will choose final | choose: go went settle pick decide opt
opt: go went settle pick decide chose | select: go went settle pick chose | settle: go went decide pick
agree: yes did said accept deal ok | accept: got in yes took | decline: no turn | reject: no turn bin throw
refuse: no won't | discard: bin throw chuck | throw: bin chuck toss | assist: help | help: give hand assist do
support: help | replace: instead swap new change for | substitute: instead cover | absence: out away off leave
absent: out away off miss | deputise: cover | cover: do stand step | miss: can't won't skip
unavailable: out away off can't | available: free can | able: can | permit: allow let can | allow: let can ok fine
permission: allow let ok | forbid: not allow | trigger: cause get make give from
cause: make give get from because trigger | owing: because | tolerate: agree stand handle | agreeable: ok fine
sew: quilt stitch knit made | craft: made make | create: made make write build | produce: made make
construct: build built | repair: fix mend | mend: fix repair | install: put set fit | configure: set
purchase: bought buy got get | acquire: bought buy got get | possess: have got own | inherit: left got from
receive: got get | obtain: got get | gift: gave give present | donate: gave give | earn: make pay take home get
income: earn salary pay make take home | wage: pay earn | net: take home after | gross: before tax
fee: cost charge pay price | charge: cost fee price pay | price: cost charge pay rent
cost: charge price pay quid euro | rate: charge cost price per hour | expense: cost pay spend | fund: money pay save
sum: money amount | amount: money much | fuel: petrol gas diesel | petrol: gas fuel | household: home house
residence: home house live flat | reside: live | tenant: rent flat | accommodation: hotel hostel flat stay
hotel: villa stay room | used: second-hand second hand | secondhand: used | veterinary: vet | veterinarian: vet
physiotherapy: physio | physiotherapist: physio | therapist: therapy physio | medic: doctor | operation: surgery op
surgery: op operation replace | hospitalise: hospital ward | hospitalize: hospital ward | treat: take therapy
treatment: therapy take med | dose: mg take pill | dosage: mg dose take | prescribe: put on | suffer: get have got
diagnose: have got found | symptom: pain ache get | dizzy: faint | faint: pass | fatigue: tired exhausted
exhausted: tired | exhaustion: tired | stressful: stress | difficulty: hard trouble struggle
struggle: hard trouble | easy: simple | boring: bore dull | bore: dull boring | enthusiastic: love excited
excited: wait thrill | worried: worry scare | concerned: worry | concern: worry | frustrated: annoy nuts
annoyed: annoy nuts | pleased: glad happy | satisfied: happy | sleepless: sleep | blind: see colour
blindness: blind | deafness: deaf | left-handed: left | debt: owe loan | bill: invoice pay | salary: pay earn
retire: pension | employ: staff work job employee | employer: company work firm boss | staff: employee people team
employee: staff people team | colleague: team work | supervisor: boss manager | supervise: supervisor
department: team | company: firm business work | firm: company | shop: store | store: shop
bookshop: book shop store | bakery: bake shop | restaurant: place cafe | cafe: place coffee | venue: place hall barn
place: barn venue spot | location: place where | site: place | region: area | village: town | homeland: from
origin: from | originate: from | native: from | hail: from | come: from | citizen: passport
citizenship: passport test | nationality: passport from | graduate: finish degree done | degree: graduate
course: class lesson | lesson: class course | class: lesson course | tuition: lesson | instructor: teacher lesson
tutor: teacher lesson | pupil: school | school: class | secondary: school | thesis: dissertation
dissertation: thesis | chapter: write | essay: write draft | draft: version write | author: write wrote
publish: out release | perform: play gig mic stage sing | performance: gig play show | concert: gig show
exhibition: exhibit show | exhibit: show | painting: paint canvas | instrument: play | bandmate: band
drummer: drum | singer: sing | master: dm game run | lead: run charge | run: lead | operate: run | manage: run
head: run lead charge | responsible: charge do handle run | maintain: keep | maintainer: maintain keep
oversee: run manage | coordinate: run organise | found: start open set | founder: start found
launch: open start ship | ship: release launch | deploy: ship release | version: v release | migrate: move switch
migration: move switch migrat migrate | upgrade: update | parameter: b | setting: set | device: phone laptop
smartphone: phone | notebook: laptop | vehicle: car van bike | automobile: car | bicycle: bike cycle
cycle: bike ride | ride: cycle bike | mileage: km mile | distance: km mile far | journey: trip train drive
trip: go travel flight ferry | voyage: trip | fly: flight plane | flight: fly plane | transport: bus train bike
bus: school | near: close minute far | close: near minute | nearby: close near minute | located: in on at
situated: in on at | west-facing: west | storey: floor | elevator: lift | lift: elevator | garden: yard
cellar: basement | basement: cellar | bedroom: room | spare: extra | additional: extra more | further: more extra
entire: whole | whole: all | several: few some couple | various: different | numerous: many
multiple: two three few | pair: two | couple: two | single: one | sole: only | exclusively: only | solely: only
alone: myself only self | personally: myself | jointly: together both | together: both with we
partner: wife husband girlfriend boyfriend together | sibling: four three brother sister
siblings: brother sister youngest oldest | son: boy | daughter: girl | toddler: two three | adolescent: teen
teenage: teen thirteen fourteen fifteen sixteen seventeen | elderly: old | senior: old | deceased: die pass late
late: die pass | widowed: die pass late | remarry: married again | wed: marry | spouse: wife husband
fiance: engaged | engaged: propose ring | expectant: pregnant | pup: puppy
dog: greyhound labrador terrier poodle spaniel beagle collie retriever dachshund puppy | cat: kitten tabby
bird: budgie parrot | pet: dog cat budgie | pescatarian: fish | meatless: meat
dairy: milk cheese lactose yoghurt butter | lactose: dairy milk | beverage: drink | alcohol: drink wine beer
teetotal: drink | meal: dinner lunch breakfast | nutrition: nutritionist calorie kcal protein eat | calorie: kcal
diet: eat kcal | favour: prefer like | favourite: best prefer | prefer: like rather better best
enjoy: like love fun | fond: like love | appreciate: like love | dislike: hate stand bore like | loathe: hate
detest: hate | fear: scare terrify afraid | afraid: scare terrify fear | scared: terrify afraid fear
dread: hate fear | ambition: want aim goal | goal: want aim target | target: goal aim | aim: goal want target
intend: want plan going will | intention: want plan | wish: want like would | desire: want | hope: want
consider: think about maybe might | contemplate: think about | possibility: maybe might could
undecided: sure maybe | uncertain: sure maybe | begin: start | commence: start | start: begin first
beginning: start | conclude: finish end | complete: done finish | finish: done over | continue: still keep
remain: still stay keep | persist: still | resume: again back | return: back again | again: back
previously: used before | former: old ex used | formerly: used before old | earlier: before | originally: first
initial: first | recent: new just last | recently: just new finally last | newly: just new | upcoming: next
annual: year | monthly: month | weekly: week | daily: day morning evening night | nightly: night | evening: night
dawn: early morning | twice: two | converse: talk speak | communicate: talk speak write | contact: call write
correspond: write mail | email: mail write | mail: email | message: text write | text: answer reply message
reply: answer | respond: answer | request: ask please want unless | ask: please | require: need must have
need: must have to | necessary: need must | must: have need | mandatory: must | prohibit: not never
avoid: no never out | except: unless only | unless: except only | state: say said | mention: say said tell
inform: tell told | learn: told heard lesson class | hear: told | report: say said | claim: say said
believe: think | opinion: think | regard: think | describe: say call | call: name | name: call | nickname: call
known: call | title: call name
"""


def reworded() -> Mapping[str, frozenset[str]]:
    """For the stem of a word of a statement, the stems of the words that say it."""
    found: dict[str, frozenset[str]] = {}
    for entry in _FOR.strip().replace("\n", " | ").split(" | "):
        word, _, others = entry.partition(": ")
        root = stem(word)
        found[root] = found.get(root, frozenset()) | frozenset(stem(other) for other in others.split())
    return found
