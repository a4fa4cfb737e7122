"""Words that a statement may use for other words, by topic: "vacuum" for "hoover". English."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from anaphora.rules.language.stems import stem

#: a word of a statement, and words of a source that say it
_BY_TOPIC: Final = """
pain: hurt sore ache wrecked throb stiff kill twinge
sick: nausea nauseous queasy vomit ill carsick seasick throw
sickness: nausea nauseous queasy vomit ill carsick seasick sick
nausea: sick queasy carsick seasick
motion: carsick seasick boat plane car carousel
anxious: nerves nervous knots butterflies panic worry stress dread
anxiety: nerves nervous knots butterflies panic worry stress dread
nervous: nerves knots butterflies anxious
insomnia: awake sleep asleep
sleep: awake bed nap asleep lie doze
diabetes: insulin sugar glucose
diabetic: insulin glucose
allergic: hives epipen itch swell throat breathe anaphylactic rash react
disability: wheelchair disabled blind deaf
wheelchair: wheel ramp
pregnant: due trimester expect scan
injure: broke sprain tore hurt twist fracture
injury: broke sprain tore hurt twist fracture knee shoulder
surgery: op operate operation replacement
vision: glasses contacts blind eyes
eyesight: glasses contacts blind eyes see
nearsighted: glasses contacts
sighted: glasses contacts
hearing: deaf aid
depression: depressed
therapy: therapist counsellor shrink
medication: meds pills prescription dose tablet inhaler
physician: doctor gp
doctor: gp doc
recover: heal rehab better
impair: own numb weak shake tremble
smoker: cigarette smoke pack
sober: drink alcohol
overweight: kilos pounds weigh
coeliac: celiac gluten
disease: illness condition coeliac diabetes asthma
illness: disease condition sick
condition: disease illness
employ: work job hire company
occupation: work job
nurse: ward hospital patient
teacher: class student pupil school lesson teach
teach: class student pupil school lesson grade
programmer: code deploy software developer
developer: code deploy software dev
software: code deploy app
chef: kitchen restaurant cook
driver: wheel truck lorry
drive: wheel truck lorry car road
truck: lorry scania volvo rig haul semi
lorry: truck scania rig haul
landlord: tenant rent flat lease
rent: tenant lease landlord
tenant: rent lease landlord
carer: care look after bathe feed
caregiver: care look after bathe feed
retire: pension pensioner
unemployed: laid redundant
manage: run charge responsible head lead
manager: run charge responsible head lead manage
lead: run charge head manage
administer: set server maintain manage run
maintain: set server fix keep
handle: do responsible charge deal
oversee: run charge responsible manage
freelance: client invoice contract
freelancer: client invoice contract freelance
owner: own run open my
founder: found start open
shift: night late early rota
rotation: on off
remotely: home remote
accountant: ledger book tax sums accountancy
bookkeeper: ledger book sums payroll
payroll: pay wages
earn: make pay salary get
salary: earn make pay
colleague: team coworker work
career: work job
artist: canvas paint draw mural ink
musician: band guitar piano drum gig
write: work
writer: write novel book draft
author: write novel book draft
journalist: newspaper article write
scientist: lab research
researcher: lab research
farmer: farm cow crop field harvest
soldier: army navy barracks deploy
military: army navy air force marine
serve: navy army force spent
veteran: army navy served
pilot: fly plane cockpit
sailor: boat ship navy
lawyer: court case firm client
student: uni study semester exam lecture
pottery: pot kiln clay wheel throw
ceramics: pot kiln clay wheel throw pottery
garden: allotment plant tomato seed flower bed grow
gardener: allotment plant tomato seed flower grow
grow: plant seed garden allotment bean tomato harvest
vegetable: courgette bean carrot tomato pea potato cabbage zucchini kale leek pumpkin squash cucumber lettuce onion
fruit: apple pear berry cherry plum mango strawberry raspberry
woodwork: wood lathe chisel bench dovetail plane carpentry
carpentry: wood lathe chisel bench
knit: wool yarn needle sock
sew: stitch fabric pattern
climb: boulder wall route summit mountain everest rope
climber: boulder wall route climb rope
mountain: summit peak alps
mountaineer: summit peak climb
sail: boat yacht regatta
sing: choir vocal voice
singer: choir vocal voice sing
run: marathon race jog parkrun 10k
runner: marathon race jog
marathon: race
cycle: bike saddle
swim: pool length lake
fish: rod trout angling
bake: oven sourdough bread cake dough
photograph: camera lens shoot
photographer: camera lens shoot
photography: camera lens shoot
read: book novel page library
reader: book novel page library
gamer: console game xbox playstation
bee: hive beehive beekeep honey
labrador: lab
handed: lefty righty left
bird: binocular owl robin
astronomy: telescope star planet
camp: tent
ski: slope piste
dance: salsa tango ballet ballroom
collect: get have many lot hundred shelf windowsill
collection: have many lot hundred shelf windowsill
paint: canvas brush watercolour
movie: film cinema
film: movie cinema
volunteer: help charity shelter soup unpaid
exercise: gym run swim yoga workout train
gym: lift squat bench deadlift
yoga: mat
kayak: paddle
referee: ref whistle
coach: train team under
play: game match instrument band guitar piano violin cello drum flute bass football tennis chess hockey rugby
match: game
compete: race tournament
widow: pass die late
widower: pass die late
wife: married
daughter: girl
son: boy
man: husband boyfriend brother father son
woman: wife girlfriend sister mother daughter
husband: married
die: pass lose late
divorce: ex separate
married: wedding anniversary spouse
wedding: marry anniversary
engage: ring propose
spouse: wife husband married
sibling: only
renovate: redo redoing fix paint
seasick: boat
share: with together flatmate roommate housemate
motorcycle: motorbike
fiction: novel
goalkeeper: goalie goal keeper
semester: term
twin: both
alone: own single myself
separate: split ex
relationship: together date
single: alone own
parent: kid child son daughter baby dad mum mom
father: dad papa newborn
mother: mum mom mama newborn
mom: mum mama
newborn: baby
infant: baby
toddler: two three
teenager: teen fifteen fourteen sixteen
sibling: brother sister
grandchild: grandson granddaughter
grandparent: grandma grandpa
owner: my our have own
household: we home family
homeowner: mortgage house bought
mortgage: loan house
vacuum: hoover
clean: hoover tidy scrub
cleaner: hoover
apartment: flat studio
flat: apartment
house: home cottage bungalow
rural: village farm countryside
garage: shed
balcony: terrace
spicy: chilli hot heat chili
sweet: sugar dessert candy
sugar: sweet
caffeine: coffee espresso tea
alcohol: beer drink drunk wine booze pub
drink: beer wine booze coffee tea
meat: beef chicken pork steak bacon
fast: ramadan lent eat
breakfast: morning porridge
cook: make kitchen recipe meal dinner
meal: dinner lunch eat cook
diet: eat carb food
avoid: no without
dislike: stand hate
introvert: quiet shy crowd lurker alone wallflower corner
introverted: quiet shy crowd lurker alone wallflower corner
extrovert: people party crowd
shy: quiet
organise: tidy list alphabetise label plan
perfectionist: pedantic exact correct
early: morning five six dawn
late: night midnight
impatient: wait
afraid: scare terrify fear phobia
fear: scare terrify afraid phobia freak creep
hate: stand worst
attend: make go
enthusiast: love nerd geek
doctorate: doctor phd thesis dissertation committee viva defend
phd: doctor thesis dissertation committee viva defend
graduate: diploma degree cap gown ceremony
degree: diploma graduate
exam: test
pass: got clear
study: degree semester exam uni course class student revise
university: uni college campus faculty
enrol: start uni college
budget: envelope spend cash
save: put aside
invest: fund stock index share portfolio
money: cash euro dollar pound
debt: owe loan
citizen: passport citizenship
immigrate: move visa
license: mit apache gpl bsd relicense
release: ship launch publish deploy
deploy: ship release
migrate: now switch move
switch: now move change migrate
database: postgres mysql sqlite
server: box machine host
machine: box server
fly: plane flight airport
travel: trip commute flight train
abroad: overseas country foreign
commute: train bus bike drive work office
vehicle: car bike van truck
religious: church mosque temple pray
pray: church mosque temple
observe: fast keep celebrate
celebrate: party
monthly: month
weekly: week
annual: year
daily: day every
regular: every always
frequent: every always
complete: finish done line cross
finish: done end
win: first gold victory
elect: vote
vote: elect
accept: got get in offer
admit: got get in
hire: got offer start job
break: left split dump snap
meet: met
rescue: shelter adopt
adopt: shelter rescue
buy: bought got order new
purchase: bought got order buy
sell: sold
acquire: got bought new
receive: got get
obtain: got get
host: place mine ours come over
attend: go went do
spell: letter spelling
relocate: move left
move: left came
marry: knot hitched aisle vows
reside: live
return: back came
leave: quit hand left resign bye
resign: quit hand left
quit: left resign gave bye
stop: quit gave done
begin: start
become: now turn am
plan: going will
freeze: ice
convert: used
cost: pay price
pay: cost rent price
suffer: have get got
prefer: rather only better favourite
refuse: won't
support: root fan
fan: root support season
handed: hand
mile: mi
kilometre: km k
percent: %
euro: eur €
pound: gbp £
dollar: usd $
""".strip()


def by_topic() -> Mapping[str, frozenset[str]]:
    """For the stem of a word of a statement, the stems of the words that say it."""
    found: dict[str, frozenset[str]] = {}
    for line in _BY_TOPIC.splitlines():
        word, _, others = line.partition(": ")
        root = stem(word)
        found[root] = found.get(root, frozenset()) | frozenset(stem(other) for other in others.split())
    return found
