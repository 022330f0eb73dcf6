/** Every shell block of the documentation runs, or says why it is not run here (D36). */
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, type TestContext } from "vitest";
import { freePort } from "../support/free-port.ts";
import { folder } from "../support/service.ts";
import { blocksOf, pagesWithShell, type Replacements, ROOT, runBlocks, write } from "./guide-shell.ts";

const shellBlocks = pagesWithShell().flatMap((page) =>
	blocksOf(page).filter(({ language }) => /^(?:sh|bash)$/.test(language)),
);

/** What the blocks of a page, or of all pages in a folder, find: files, and commands before the first. */
interface Setting {
	before?: string;
	replace?: Replacements;
	prepare?(cwd: string): void;
}

/** The nth block of a language on a page. */
const example = (page: string, language: string, at = 0): string =>
	blocksOf(page).filter((block) => block.language === language)[at]!.text;

const EXAMPLES: Setting = {
	before: "sluice serve --config examples/sluice.yaml",
	prepare(cwd) {
		symlinkSync(join(ROOT, "examples"), join(cwd, "examples"));
		symlinkSync(join(ROOT, "node_modules"), join(cwd, "node_modules"));
	},
};
const PICTURE = join(ROOT, "examples/pictures/receipt.jpg");
const FIRST_HOUR = "docs/guides/first-hour.md";
const ENDPOINTS = "docs/guides/endpoints.md";
const IN_GIT = "docs/guides/endpoints-in-git.md";
const WEBHOOKS = "docs/guides/webhooks.md";
const ALERTS = "docs/guides/alerts.md";
const ACCEPTS_ALL =
	'require("http").createServer((_, response) => response.end()).listen(0, ' +
	"function () { console.log(this.address().port) })";

const PAGES: Readonly<Record<string, Setting>> = {
	"examples/README.md": {
		...EXAMPLES,
		// In another terminal.
		replace: [[/^node (examples\/webhook-receiver\/receiver\.js)$/m, '"$TEST_NODE" $1 &']],
	},
	"docs/guides/clients.md": EXAMPLES,
	"README.md": EXAMPLES,
	"docs/guides/command-line.md": {
		...EXAMPLES,
		prepare(cwd) {
			EXAMPLES.prepare!(cwd);
			write(cwd, { "inputs.jsonl": `{"sizes": [64], "image": "${readFileSync(PICTURE, "base64")}"}\n` });
		},
	},
	"docs/guides/files.md": {
		...EXAMPLES,
		prepare(cwd) {
			EXAMPLES.prepare!(cwd);
			write(cwd, { "lines.jsonl": "{}\n" });
		},
	},
	"docs/guides/batches.md": EXAMPLES,
	"docs/guides/streaming.md": EXAMPLES,
	"docs/guides/priorities-and-limits.md": EXAMPLES,
	"docs/guides/monitoring.md": EXAMPLES,
	[ALERTS]: {
		before: [
			`"$TEST_NODE" -e '${ACCEPTS_ALL}' >port &`,
			"until [ -s port ]; do sleep 0.1; done",
			'sed -i "s|https://ntfy.sh|http://127.0.0.1:$(cat port)|" sluice.yaml',
			"sluice serve",
		].join("\n"),
		prepare: (cwd) => write(cwd, { "sluice.yaml": example(ALERTS, "yaml") }),
	},
	"docs/guides/cost-per-job.md": EXAMPLES,
	"docs/guides/troubleshooting.md": EXAMPLES,
	"docs/runbooks/": { ...EXAMPLES, replace: [[/\bENDPOINT\b/g, "thumbnail"]] },
	"docs/guides/webhooks.md": {
		...EXAMPLES,
		prepare(cwd) {
			EXAMPLES.prepare!(cwd);
			write(cwd, { "receiver.py": example(WEBHOOKS, "python"), "receiver.mjs": example(WEBHOOKS, "js") });
		},
	},
	"docs/guides/gpus.md": {},
	"docs/guides/releases.md": {
		before: [
			"sluice serve",
			"sluice endpoints create captions --set launcher.type=docker --set launcher.image=example.com/captions:1",
		].join("\n"),
	},
	"docs/guides/install.md": {},
	[ENDPOINTS]: {
		replace: [[/\/path\/to\//g, "./pack/"]],
		prepare(cwd) {
			mkdirSync(join(cwd, "pack"));
			execFileSync("npm", ["pack", "--ignore-scripts", "--pack-destination", join(cwd, "pack")], {
				cwd: ROOT,
			});
			write(cwd, {
				"worker.js": example(ENDPOINTS, "js"),
				"sluice.yaml": example(ENDPOINTS, "yaml"),
				"package.json": '{"type": "module"}',
			});
		},
	},
	[IN_GIT]: {
		before: "sluice serve",
		prepare: (cwd) => write(cwd, { "endpoints.yaml": example(IN_GIT, "yaml") }),
	},
	[FIRST_HOUR]: {
		before: "sluice serve",
		prepare(cwd) {
			write(cwd, {
				"handler.ts": example(FIRST_HOUR, "ts"),
				"test_input.json": example(FIRST_HOUR, "json"),
				"inputs.jsonl": '{"name": "Ann"}\n{"name": "Ben"}\n',
				"path/to/repository/handler.ts": example(FIRST_HOUR, "ts"),
				"path/to/repository/.runpod/hub.json": '{"title": "Greeter", "config": {}}',
				"path/to/repository/.runpod/tests.json":
					'{"tests": [{"name": "one", "input": {"name": "Ann"}, "timeout": 10000}]}',
			});
		},
	},
	"docs/guides/backup.md": {
		before: "sluice serve --store sqlite:store/sluice.db",
		prepare: (cwd) => mkdirSync(join(cwd, "store")),
		replace: [
			[/\/var\/backups\/sluice\/(sluice-\d+T\d+Z\.tar)/g, '"$(ls backups/*.tar | tail -1)"'],
			[/\/var\/backups\/sluice\//g, "backups/"],
			[/(?<= )sluice-\d+T\d+Z\.tar/g, '"$(ls backups/*.tar | tail -1)"'],
			[/\/safe\/sluice\.db\.secret/g, "store/sluice.db.secret"],
			[/\/var\/lib\/sluice/g, "restored"],
			[/chown -R sluice: /g, 'chown -R "$(id -un):" '],
		],
	},
	"docs/guides/console.md": { before: "sluice serve" },
	"docs/guides/docker.md": {
		before: "sluice serve",
		prepare: (cwd) => write(cwd, { "password.txt": "secret\n" }),
	},
	"docs/guides/tls.md": {
		replace: [
			[/\/etc\/sluice\//g, ""],
			[/--port 443/g, '--port "$TEST_PORT"'],
		],
		before:
			"openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=localhost " +
			"-keyout key.pem -out fullchain.pem -days 1 2>/dev/null",
	},
};

async function run({ onTestFinished }: TestContext, page: string): Promise<string> {
	const place = folder();
	onTestFinished(() => place.remove());
	const { prepare, ...setting } = PAGES[page]!;
	prepare?.(place.path);
	const blocks = shellBlocks.filter((block) => block.page.startsWith(page) && block.notRun === undefined);
	const port = await freePort();
	const said = await runBlocks(blocks, { cwd: place.path, port, ...setting });
	expect(said).toHaveLength(blocks.length);
	return said.join("\n");
}

describe("shell blocks of the documentation", () => {
	it("are on pages that are run, or say what runs them", () => {
		const silent = shellBlocks.filter(
			({ page, notRun }) => notRun === undefined && !Object.keys(PAGES).some((run) => page.startsWith(run)),
		);
		expect(silent.map(({ page, line }) => `${page}:${line}`)).toEqual([]);
		const notRun = shellBlocks.filter((block) => block.notRun !== undefined);
		console.info(
			[
				`${shellBlocks.length} shell blocks, ${notRun.length} of them not run here:`,
				...notRun.map((block) => `${block.page}:${block.line} ${block.notRun}`),
			].join("\n"),
		);
		expect(shellBlocks.length - notRun.length).toBeGreaterThanOrEqual(22);
	});

	it.concurrent.for(Object.keys(PAGES))("of %s work as they stand", { timeout: 240_000 }, async (page, test) => {
		expect(await run(test, page)).not.toMatch(/"error": ?"/);
	});
});
