// What the button at a session copies: what is typed, without prompts and output. An empty line ends each block of
// Python, as at a prompt.
for (const code of document.querySelectorAll("pre > code")) {
  const lines = code.textContent.split("\n");
  const prompt = [">>> ", "$ "].find((prompt) => lines.some((line) => line.startsWith(prompt)));
  if (!prompt) continue;
  const continues = (i) =>
    prompt === "$ " ? i > 0 && lines[i - 1].endsWith("\\") : /^\.\.\.( |$)/.test(lines[i] ?? "");
  const kept = [];
  lines.forEach((line, i) => {
    if (line.startsWith(prompt)) kept.push(line.slice(prompt.length));
    if (continues(i)) kept.push(prompt === "$ " ? line : line.slice(prompt.length));
    if (prompt === ">>> " && continues(i) && !continues(i + 1)) kept.push("");
  });
  code.dataset.copy = kept.join("\n");
}
