/**
 * `npm run fuzz -- [--seed N] [--minutes M] [--target NAME] [--keep]`: all targets in turns until the
 * time is over or a finding. Prints a report as JSON; findings are added to the corpus. `--keep`
 * adds small cases that reached new blocks.
 */
import { parseArgs } from "node:util";
import { addToCorpus, readCorpus } from "./corpus.ts";
import { coverage } from "./coverage.ts";
import { campaign, type Campaign, type Finding, turn } from "./loop.ts";

/** Of `--keep`: cases per target, characters of a case. */
const [KEPT, LONGEST] = [12, 400];

const { values } = parseArgs({
	options: {
		seed: { type: "string", default: "1" },
		minutes: { type: "string", default: "5" },
		target: { type: "string", multiple: true },
		keep: { type: "boolean", default: false },
	},
});
const [seed, minutes] = [Number(values.seed), Number(values.minutes)];
if (!Number.isSafeInteger(seed) || !(minutes > 0))
	throw new Error("--seed must be a whole number, --minutes a number above 0.");

const counted = coverage();
// Loaded now, so that the coverage knows their blocks.
const { TARGETS } = await import("./targets/index.ts");
const unknown = values.target?.find((name) => !TARGETS.some((each) => each.name === name));
if (unknown !== undefined)
	throw new Error(`Unknown target ${unknown}; expected ${TARGETS.map(({ name }) => name).join(", ")}.`);

const campaigns = TARGETS.filter(({ name }) => values.target?.includes(name) ?? true).map((each) =>
	campaign(
		each,
		readCorpus(each.name).map(({ value }) => value),
	),
);
const started = performance.now();
const until = started + minutes * 60_000;
const findings: Finding[] = [];

for (let round = 0; performance.now() < until && findings.length === 0; round += 1)
	for (const [index, each] of campaigns.entries()) {
		const found = await turn(each, {
			seed: seed * 1_000_003 + round * 101 + index,
			until,
			coverage: counted,
		});
		if (!found) continue;
		findings.push(found);
		process.stderr.write(`${found.target}: ${found.error}\n${JSON.stringify(found.value)}\n`);
		const sentence = found.error.split("\n")[0]!.slice(0, 200);
		addToCorpus(found.target, [{ found: sentence, value: found.value }]);
	}
const seconds = Math.round((performance.now() - started) / 1000);

if (values.keep) for (const each of campaigns) addReached(each);
process.stdout.write(
	`${JSON.stringify(
		{
			seed,
			seconds,
			runs: campaigns.reduce((sum, { runs }) => sum + runs, 0),
			findings,
			targets: campaigns.map(({ target: { name }, runs, ms, blocks, newest, pool }) => ({
				name,
				runs,
				seconds: Math.round(ms / 1000),
				blocks: blocks.size,
				newestBlockAt: newest,
				pool: pool.length,
			})),
		},
		undefined,
		"\t",
	)}\n`,
);
for (const { target } of campaigns) await target.close?.();
counted.stop();
process.exitCode = findings.length === 0 ? 0 : 1;

function addReached({ target: { name }, pool }: Campaign): void {
	const stored = readCorpus(name);
	const known = new Set(stored.map(({ value }) => JSON.stringify(value)));
	const reached = pool
		.filter((value) => JSON.stringify(value).length <= LONGEST && !known.has(JSON.stringify(value)))
		.slice(0, Math.max(0, KEPT - stored.length))
		.map((value) => ({ value }));
	if (reached.length > 0) addToCorpus(name, reached);
}
