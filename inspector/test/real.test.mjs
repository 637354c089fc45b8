// The page on a real host, with real events; HOOKWIRE names the program, and without it there is nothing to try.
import test from "node:test";
import assert from "node:assert/strict";
import { browse } from "./browser.mjs";
import { inspect } from "./real.mjs";

const skip = process.env.HOOKWIRE ? false : "HOOKWIRE names no program";

test("what a real host judges is shown, explained, answered", { skip }, async (t) => {
  const real = await inspect();
  t.after(real.close);
  for (const command of ["cd web && git push -f", "npm install left-pad", "$RUN push --force; curl https://example.com", "ls"])
    real.bash(command);
  real.send("claude-code", {
    hook_event_name: "PostToolUse",
    tool_name: "Edit",
    tool_input: { file_path: "a.ts" },
    tool_response: {},
  });
  const { page, problems, close } = await browse();
  t.after(close);
  await page.goto(await real.address());
  const row = (text) => page.locator(".row.event", { hasText: text });
  for (const [text, tone] of [
    ["git push -f", "deny"],
    ["npm install", "rewritten"],
    ["$RUN push", "ask"],
    ["ls", "allow"],
    ["a.ts", "failed"],
  ])
    assert.match(await row(text).first().textContent(), new RegExp(`^${tone}`), text);

  await row("git push -f").click();
  await page.getByRole("heading", { name: "Denied by no-force-push" }).waitFor();
  await page.locator(".hop", { hasText: "no-force-push" }).first().waitFor();
  assert.match(
    await page.locator(".hop a.place", { hasText: "team.yaml:2" }).getAttribute("href"),
    /^vscode:\/\/file\/.*\/shop\/\.hookwire\/team\.yaml:2$/,
  );
  await page.getByRole("button", { name: "runs git push -f" }).hover();
  assert.equal(await page.locator(".lit.is-lit").textContent(), "git push -f");
  const got = page.locator(".part", { hasText: "What the agent got" });
  await got.getByText("exit code").waitFor();
  await got.locator("pre", { hasText: '"permissionDecision": "deny"' }).waitFor();
  await row("npm install").click();
  await page.locator(".diff ins", { hasText: "pnpm" }).waitFor();
  await row("$RUN push").click();
  await page.locator(".hop.is-doubt").first().waitFor();

  real.bash("git push --force origin main");
  await row("origin main").waitFor();

  const go = (hash) =>
    page.evaluate((it) => {
      location.hash = it;
    }, hash);
  await go("#/definitions");
  assert.match(await page.locator("tr", { hasText: "use-pnpm" }).textContent(), /rewrite/);
  await page.locator("tr", { hasText: "no-force-push" }).getByText("1 case").click();
  await page.locator("a.place", { hasText: "team.test.yaml:2" }).waitFor();
  await page.getByRole("button", { name: "Write one: a case for use-pnpm" }).click();
  const line = '- { bash: "npm install left-pad", expect: { command: "pnpm install left-pad" } }';
  await page.getByRole("dialog").getByText(line).waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: ".hookwire/team.yaml" }).click();
  await page.locator(".code", { hasText: "Force pushes are off" }).waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Review for trust" }).click();
  await page.getByText("trusted as they are").waitFor();
  await page.keyboard.press("Escape");

  await go("#/try");
  await page.getByRole("button", { name: "Paste one" }).click();
  await page.locator(".tried-verdict", { hasText: "deny" }).waitFor();
  await page
    .getByLabel("An event, as JSON")
    .fill('{"event":"PreToolUse","tool":{"name":"Bash","input":{"command":"git status"}}}');
  await page.locator(".tried-verdict", { hasText: "allow" }).waitFor();

  await go("#/history");
  await page.getByRole("switch", { name: "Record" }).click();
  await page.locator('[role="switch"][aria-checked="true"]').waitFor();
  real.bash("git push -f origin recorded");
  const search = page.getByRole("combobox", { name: "Search what was recorded" });
  for (let found = false; !found;) {
    await search.fill(`decision:deny text:recorded since:1h${" ".repeat(Math.floor(Math.random() * 9))}`);
    found = await row("recorded")
      .first()
      .waitFor({ timeout: 1000 })
      .then(
        () => true,
        () => false,
      );
  }
  await go("#/try");
  await page.getByRole("button", { name: "Ask the past" }).click();
  await page.getByText("would have ended otherwise").waitFor();
  await page.getByLabel("Name").fill("from-the-page");
  await page.getByLabel(/^Cases/).fill("cases:\n  - { bash: git push -f, expect: deny }\n");
  await page.getByRole("button", { name: "Save as a definition" }).click();
  await page.getByText("It isn’t in force yet").waitFor();
  await page.getByRole("button", { name: "Save as a definition" }).click();
  await page.locator(".problem").waitFor();
  t.diagnostic(`a second time: ${await page.locator(".problem").textContent()}`);
  await go("#/definitions");
  await page.getByRole("button", { name: "Review for trust" }).click();
  await page.getByText("Not in force until you trust it.").waitFor();
  await page.locator(".review", { hasText: "from-the-page" }).waitFor();
  await page.keyboard.press("Escape");

  await go("#/approvals");
  const answers = [];
  for (const answer of [
    async () => {
      await page.getByRole("button", { name: "No…" }).click();
      await page.getByLabel("Why not?").fill("Not today.");
      await page.getByRole("button", { name: "Say no" }).click();
    },
    async () => {
      await page.getByRole("button", { name: "Yes, but changed…" }).click();
      await page.getByLabel("The command that runs instead").fill("pnpm publish --dry-run");
      await page.getByRole("button", { name: "Say yes to this" }).click();
    },
  ]) {
    const waits = real.waits("npm publish --access public");
    await page.locator(".question").waitFor();
    await answer();
    answers.push(await waits);
  }
  assert.match(answers[0], /"deny".*Not today\./);
  assert.match(answers[1], /pnpm publish --dry-run/);
  assert.deepEqual(problems, []);
});

test("a guard that no longer denies, and what nobody was asked about", { skip }, async (t) => {
  const rule = (pattern) => `hooks:\n  - { name: a, on: PreToolUse, if: Bash(${pattern}), deny: Not here. }\n`;
  const cases = "cases:\n  - { bash: git push -f, expect: deny }\n";
  const real = await inspect({ definitions: { "team.yaml": rule("git push -f"), "team.test.yaml": cases } });
  t.after(real.close);
  await real.plant("git push -f", 3600);
  real.bash("ls");
  const { page, problems, close } = await browse();
  t.after(close);
  await page.goto(await real.address());
  await page.locator(".row.event", { hasText: "ls" }).waitFor();
  const alert = page.locator(".lost", { hasText: "to be denied, and isn’t" });
  assert.equal(await alert.count(), 0);
  await page.evaluate(() => {
    location.hash = "#/definitions";
  });
  await page.getByText("claude-code: 1 call never asked, 1 would be denied").waitFor();
  // Whoever trusts the next state has it in force, and the case passes.
  await real.write("team.yaml", rule("git push -q"));
  assert.equal(real.run(["trust", "--yes"]).status, 0);
  await alert.getByText("team.test.yaml:2").waitFor();
  await page.getByText("Cases that are denied no more").waitFor();
  assert.deepEqual(problems, []);
});
