// Conveniences: everything works without them.
"use strict";

// Answers arrive piece by piece.
for (const form of document.querySelectorAll("form[data-stream]")) {
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const answer = form.querySelector(".answer");
    const button = form.querySelector("button");
    const text = form.querySelector("textarea");
    button.disabled = true;
    answer.hidden = false;
    answer.textContent = "…";
    try {
      const response = await fetch(form.dataset.stream, { method: "POST", body: new URLSearchParams(new FormData(form)) });
      if (!response.ok) {
        const page = new DOMParser().parseFromString(await response.text(), "text/html");
        answer.textContent = page.querySelector(".lead")?.textContent ?? "That did not work: try again.";
        return;
      }
      answer.textContent = "";
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      for (let piece = await reader.read(); !piece.done; piece = await reader.read()) answer.textContent += piece.value;
      text.value = "";
      window.location.reload();
    } catch {
      answer.textContent = "The service does not answer: what you wrote is still here.";
    } finally {
      button.disabled = false;
    }
  });
}

// Control and Enter send what is being written; Enter alone goes to the next line.
document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && event.target instanceof HTMLTextAreaElement) {
    event.target.form?.requestSubmit();
  }
});

// An open menu closes with Escape.
document.querySelector(".menu")?.addEventListener("keydown", (event) => {
  if (event.key === "Escape") {
    event.currentTarget.open = false;
    event.currentTarget.querySelector("summary").focus();
  }
});
