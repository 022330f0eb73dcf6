/** What values, errors and times of jobs are shown as. */
import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { describe, expect, it, vi } from "vitest";
import { isolated, lastOf, timeOf } from "../values/chart-values.ts";
import { diffOf } from "../values/diff.ts";
import { firstLine, previewOf, readError } from "../values/jobs/job-error.ts";
import { JOB_SNIPPETS } from "../values/jobs/job-snippets.ts";
import { readMarkdown } from "../values/markdown.ts";
import MarkdownView from "../parts/values/markdown-view.tsx";
import { rangeOf, zoomed } from "../values/ranges.ts";
import { SNIPPETS } from "../values/snippets.ts";
import { spansOf } from "../values/spans.ts";
import { MOST_MARKDOWN, looksLikeMarkdown, rowsOf, textOf, turnsOf, viewsOf } from "../values/views.ts";

// Where the page is: its modules ask for it while they load.
vi.hoisted(() => vi.stubGlobal("location", new URL("http://127.0.0.1/console/")));

describe("errors", () => {
	it("of RunPod's SDK: type, message and traceback, each once", () => {
		const error = JSON.stringify({
			error_type: "<class 'ValueError'>",
			error_message: "no such model\nsecond line",
			error_traceback: "Traceback ...",
			hostname: "box",
		});
		expect(readError(error)).toEqual({
			type: "ValueError",
			message: "no such model\nsecond line",
			trace: "Traceback ...",
			rest: { hostname: "box" },
		});
		expect(firstLine(error)).toBe("ValueError: no such model");
	});

	it("of others: a stack trace apart from the message, and any text as it is", () => {
		expect(readError("Error: no\n    at f (x.js:1:2)\n    at g")).toEqual({
			message: "Error: no",
			trace: "    at f (x.js:1:2)\n    at g",
		});
		expect(readError("{broken")).toEqual({ message: "{broken" });
		expect(readError('{"code":7}')).toEqual({ message: '{"code":7}', rest: { code: 7 } });
		expect(firstLine("one\ntwo")).toBe("one");
	});

	it("an input on one line, without its base64", () => {
		expect(previewOf(`{\n  "a": 1,\n  "image": "${"A".repeat(500)}"}`)).toBe('{ "a": 1, "image": "AAAAAAAAAAAA…"}');
	});
});

describe("Markdown", () => {
	const html = (text: string) => renderToStaticMarkup(createElement(MarkdownView, { text, plain: "plain" }));

	it("blocks: headings, lists in lists, quotes, code, tables, rules", () => {
		const shown = html(
			"# Title\nA line\nand more\n\n- one\n  - deep\n- two\n\n3. three\n" +
				"\n> said\n\n```js\nlet a;\n```\n---\n| a | b |\n|---|---|\n| 1 | 2 |",
		);
		for (const part of [
			'<p class="md-heading level-1"><b>Title</b></p><p>A line\nand more</p>',
			"<ul><li>one<ul><li>deep</li></ul></li><li>two</li></ul>",
			'<ol start="3"><li>three</li></ol><blockquote><p>said</p></blockquote>',
			'aria-label="js"><code>let a;</code>',
			'<hr/><div class="md-table"><table><thead><tr><th scope="col">a</th><th scope="col">b</th></tr></thead>',
			"<tbody><tr><td>1</td><td>2</td></tr></tbody>",
		])
			expect(shown).toContain(part);
	});

	it("inline: emphasis, code, and buttons for http addresses only; HTML is text, a picture is not loaded", () => {
		expect(html("**b** *i* `c` ~~d~~")).toContain("<strong>b</strong> <em>i</em> <code>c</code> <s>d</s>");
		for (const link of ["[a](https://x.example/1)", "![a](https://x.example/1)"])
			expect(html(link)).toMatch(/<p><button [^>]*title="https:\/\/x.example\/1">a<\/button><\/p>/);
		for (const hostile of ["[a](javascript:alert(1))", "[a](/v1/keys)", "snake_case_name", "main.py", "a@b.example"])
			expect(html(hostile)).toContain(`<p>${hostile}</p>`);
		expect(html("<img src=x onerror=alert(1)>")).toContain("<p>&lt;img src=x onerror=alert(1)&gt;</p>");
	});

	it.each<readonly [string, string, string]>([
		["# ", " ", "x\ry"],
		["|a\n|", " :-:", "x"],
		["a|b\n-|-\n", "|", ""],
		["> > > > > > > > a\n", "b\n", ""],
		...["[", "*", "`", "**a", "![a](https://", "> ", "- ", "|", "_a_ ", "  - a\n", "```\n", "*a **a ", "http://a&"].map(
			(piece) => ["", piece, "a"] as const,
		),
	])("%j, then %j up to the longest text, is read in little time", (before, piece, after) => {
		const hostile = (before + piece.repeat(MOST_MARKDOWN / piece.length) + after).slice(0, MOST_MARKDOWN);
		const began = performance.now();
		looksLikeMarkdown(hostile);
		readMarkdown(hostile);
		expect(performance.now() - began).toBeLessThan(5000);
	});
});

describe("views", () => {
	const chat = { messages: [{ role: "user", content: "hi" }] };
	const answer = { choices: [{ message: { role: "assistant", content: "# Hello" } }] };
	it.each([
		["a text", "plain", ["text", "json"]],
		["Markdown", "# Title", ["markdown", "text", "json"]],
		["a request of a chat", chat, ["chat", "json"]],
		["an answer of a chat", answer, ["chat", "markdown", "text", "json"]],
		["objects", [{ a: 1 }, { a: 2 }], ["table", "json"]],
		["an object with a list of objects", { items: [{ a: 1 }, { b: 2 }] }, ["json", "table"]],
		["an object", { width: 1 }, ["json"]],
		["an object with a text of lines", { text: "a\nb" }, ["text", "json"]],
		["a document of docling", { document: { md_content: "# Title\n\ntext" } }, ["markdown", "text", "json"]],
		["nothing", null, ["json"]],
	])("of %s", (_, value, views) => expect(viewsOf(value)).toEqual(views));

	it("text of what models answer", () => {
		expect(textOf([{ choices: [{ tokens: ["a", "b"] }] }])).toBe("ab");
		expect(textOf({ choices: [{ text: "done" }] })).toBe("done");
		expect(turnsOf({ openai_input: chat })).toEqual([{ role: "user", text: "hi" }]);
		expect(turnsOf([{ role: "user", content: [{ type: "text", text: "a" }, { type: "image_url" }] }])).toEqual([
			{ role: "user", text: "a\n[image_url]" },
		]);
		expect(rowsOf({ list: [{ a: 1 }, { b: 2 }] })).toMatchObject({
			path: "list",
			columns: ["a", "b"],
		});
	});
});

describe("comparing and times", () => {
	it("a difference has every line once, in order", () => {
		expect(diffOf("a\nb\nc", "a\nx\nc\nd")).toEqual([
			{ in: "both", text: "a" },
			{ in: "left", text: "b" },
			{ in: "right", text: "x" },
			{ in: "both", text: "c" },
			{ in: "right", text: "d" },
		]);
		const many = (mark: string): string => Array.from({ length: 3000 }, (_, n) => mark + n).join("\n");
		expect(diffOf(many("a"), many("b"))).toBeUndefined();
	});

	it("spans of a job leave no gap and end with it", () => {
		const at = (ms: number): string => new Date(ms).toISOString();
		const attempt = { workerId: "w", open: false } as const;
		expect(
			spansOf(
				{
					submittedAt: at(0),
					endedAt: at(100),
					attempts: [
						{ ...attempt, attempt: 1, startedAt: at(10), endedAt: at(30), end: "lost" },
						{ ...attempt, attempt: 2, startedAt: at(60), end: "completed" },
					],
				},
				500,
			).map(({ kind, ms, end }) => [kind, ms, end]),
		).toEqual([
			["wait", 10, ""],
			["run", 20, "lost"],
			["wait", 30, ""],
			["run", 40, "completed"],
		]);
	});

	it("ranges: minutes for a day, hours beyond; a zoom is neither too short nor in the future", () => {
		const now = 1_800_000_000_000;
		expect(rangeOf(new URLSearchParams("span=24h"), now).step).toBe(60_000);
		expect(rangeOf(new URLSearchParams("span=7d"), now).step).toBe(3_600_000);
		expect(rangeOf(new URLSearchParams("from=5&to=1"), now).span).toBe("1h");
		const { from, to } = zoomed(now - 10_000, now, now);
		expect(to - from).toBeGreaterThanOrEqual(300_000);
		expect(to).toBeLessThan(now + 60_000);
	});

	it("B9: values without neighbours are drawn as points, and the last known time is shown", () => {
		expect(isolated([null, 5, null, 1, 2, null, 3])).toEqual([1, 6]);
		expect([lastOf([1, 7, null], "ms"), lastOf([1, 7, null], "count")]).toEqual([7, null]);
		expect([timeOf(1_800_000_000, 3600), timeOf(1_800_000_000, 900_000)]).toEqual([
			expect.stringMatching(/^\d\d:\d\d$/),
			expect.stringMatching(/^\d+ \w+ \d\d:\d\d$/),
		]);
	});

	it("a client's model is a text in the example's Python, whatever it holds", () => {
		const { text } = SNIPPETS.find(({ id }) => id === "openai")!;
		const model = 'm" if not __import__("os").system("touch /tmp/a") else "\\\nm';
		const place = { base: "http://127.0.0.1:8080", id: "hello", input: {} };
		const [, written = ""] = /^ {4}model=(.*),$/m.exec(text({ ...place, model }))!;
		expect(JSON.parse(written)).toBe(model);
		expect(text({ ...place, model: "" })).toContain('    model="MODEL",\n');
	});

	it("a job as code: its body is exact in each language", () => {
		const body = JSON.stringify({ input: { quote: 'it\'s `${x}` \\ """ ' } });
		const [curl, python, javascript] = JOB_SNIPPETS.map((each) =>
			each.text({ base: "http://127.0.0.1:8080/", endpoint: "hello", body }),
		);
		expect(curl).toContain(`<<'JSON'\n${body}\nJSON`);
		expect(python).toContain(`r"""${body}"""`);
		// Between these marks every character stands for itself.
		const raw = /body: String\.raw`([^`]*)`/.exec(javascript!)![1]!;
		expect(raw).not.toContain("${");
		expect(JSON.parse(raw)).toEqual(JSON.parse(body));
	});
});
