// What the button at a session copies: its code, without prompts and output. An empty line ends each block, as at a prompt.
for (const code of document.querySelectorAll("pre > code")) {
  const lines = code.textContent.split("\n");
  if (!lines.some((line) => line.startsWith(">>> "))) continue;
  const kept = [];
  lines.forEach((line, i) => {
    const inside = /^\.\.\.( |$)/.test(line);
    if (inside || line.startsWith(">>> ")) kept.push(line.slice(4));
    if (inside && !/^\.\.\.( |$)/.test(lines[i + 1])) kept.push("");
  });
  code.dataset.copy = kept.join("\n");
}
