/** `sluice doctor`: says what is wrong with a set-up, each finding with the way out (D36). */
import { systemClock } from "../../clock.ts";
import { OPTIONS, loadConfig } from "../../config.ts";
import { JSON_FLAG } from "../common-flags.ts";
import { CliError, readFlags } from "../command.ts";
import type { Command } from "../command.ts";
import { ok, problem } from "../../core/finding.ts";
import type { Finding } from "../../core/finding.ts";
import { postgresFindings } from "./postgres.ts";
import { launcherFindings, nodeFinding, portFinding, storeFindings } from "./machine.ts";
import type { EndpointToCheck } from "../../launchers/definition.ts";
import { publicUrlFinding, serviceFindings } from "./service.ts";
import { readFile } from "../serve.ts";
import { callService } from "../service-client.ts";
import { plain } from "../table.ts";

const FLAGS = {
	config: {
		value: "FILE",
		summary: `configuration to look at (default ${OPTIONS.config.schema.default}; SLUICE_CONFIG)`,
	},
	store: { value: "STORE", summary: "store to look at, as sluice serve takes it" },
	...JSON_FLAG,
};

const SIGNS: Readonly<Record<Finding["level"], string>> = {
	ok: "ok     ",
	warning: "WARNING",
	problem: "PROBLEM",
};

export const doctor: Command = {
	name: "doctor",
	summary: "say what is wrong with a set-up, and what to do",
	synopsis: "[options]",
	flags: FLAGS,
	async run(args) {
		const { help, flags, rest } = readFlags({ ...doctor, args });
		if (help) return 0;
		if (rest.length > 0)
			throw new CliError(`doctor takes no argument '${rest[0]}'; see sluice doctor --help.`);
		const findings = await examine(flags);
		const problems = findings.filter(({ level }) => level === "problem").length;
		if (flags["json"])
			process.stdout.write(`${JSON.stringify({ ok: problems === 0, findings }, null, 2)}\n`);
		else
			process.stdout.write(
				`${findings.map(lineOf).join("")}\n${problems === 0 ? "Nothing is wrong." : problems === 1 ? "There is 1 problem." : `There are ${problems} problems.`}\n`,
			);
		return problems === 0 ? 0 : 1;
	},
};

function lineOf({ check, level, message, fix }: Finding): string {
	return `${SIGNS[level]}  ${check}: ${plain(message)}\n${fix === undefined ? "" : `         -> ${plain(fix)}\n`}`;
}

async function examine(flags: Readonly<Record<string, string | undefined>>): Promise<Finding[]> {
	const { config: file, store } = flags;
	const loaded = loadConfig({
		flags: { config: file, store },
		env: process.env,
		cwd: process.cwd(),
		readFile,
	});
	const { base } = callService(process.env);
	const looked = await serviceFindings({
		base,
		key: process.env["SLUICE_API_KEY"] || undefined,
		now: systemClock.now,
	});
	const local = isLoopback(base);
	const findings = [nodeFinding(process.versions.node)];
	if (loaded.ok) {
		const { config } = loaded;
		findings.push(ok("configuration", `${config.endpoints.length} endpoints are described.`));
		findings.push(
			...(config.store.kind === "sqlite"
				? storeFindings(config.store.path)
				: await postgresFindings({ url: config.store.url, now: systemClock.now })),
		);
		if (!looked.there && config.port !== 0) findings.push(await portFinding(config));
		if (looked.there && config.publicUrl !== undefined)
			findings.push(await publicUrlFinding(config.publicUrl));
	} else
		findings.push(
			...loaded.problems.map((each) =>
				problem("configuration", each, "Correct it; docs/reference/config.md has every setting."),
			),
		);
	// What a service elsewhere launches cannot be looked at from here.
	const described: readonly EndpointToCheck[] = loaded.ok ? loaded.config.endpoints : [];
	const launched = new Map(
		[...described, ...(local ? looked.endpoints : [])].map((endpoint) => [endpoint.id, endpoint]),
	);
	return [
		...findings,
		...looked.findings,
		...(await launcherFindings([...launched.values()], process.env)),
	];
}

function isLoopback(base: string): boolean {
	return URL.canParse(base) && /^(?:localhost|127\.|\[::1\])/.test(new URL(base).hostname);
}
