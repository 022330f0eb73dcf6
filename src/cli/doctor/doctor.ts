/** `sluice doctor`: checks a setup and prints a fix for each problem (D36). */
import { MODULES } from "../../modules/index.ts";
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { systemClock } from "../../kernel/system/clock.ts";
import { OPTIONS, withoutSecrets } from "../../kernel/config/options.ts";
import { loadConfig } from "../../kernel/config/config.ts";
import { type Finding, ok, problem } from "../../kernel/core/finding.ts";
import type { Action, FlagValues } from "../framework/command.ts";
import type { Connection } from "../client/connection.ts";
import { JSON_FLAG } from "../framework/common-flags.ts";
import { readFile } from "../serve/serve.ts";
import { stateStyled } from "../framework/style.ts";
import { counted } from "../framework/table.ts";
import { printable } from "../../kernel/lib/terminal-text.ts";
import {
	certificateFinding,
	folderFindings,
	launcherFindings,
	nodeFinding,
	portFinding,
	storeFinding,
} from "./machine.ts";
import { postgresFindings } from "./postgres.ts";
import { checkService, publicUrlFinding } from "./service.ts";

const LEVELS: Readonly<Record<Finding["level"], string>> = {
	ok: "ok     ",
	warning: "WARNING",
	problem: "PROBLEM",
};

export const doctor: Action = {
	name: "doctor",
	summary: "check the setup and suggest fixes",
	args: [],
	examples: ["sluice doctor", "sluice doctor --config sluice.yaml --json"],
	flags: {
		config: {
			value: "FILE",
			summary: `configuration to check (default ${OPTIONS.config.schema.default}; SLUICE_CONFIG)`,
		},
		store: { value: "STORE", summary: "store to check, as for sluice serve" },
		...JSON_FLAG,
	},
	async run({ flags, service }) {
		const findings = await checkSetup(service.connection(), flags);
		const problems = findings.filter(({ level }) => level === "problem").length;
		if (flags["json"]) process.stdout.write(`${JSON.stringify({ ok: problems === 0, findings }, null, 2)}\n`);
		else process.stdout.write(`${findings.map(findingText).join("")}\n${verdict(findings)}\n`);
		return problems === 0 ? 0 : 1;
	},
};

function findingText({ check, level, message, fix, lines = [] }: Finding): string {
	const fixLine = fix === undefined ? "" : `         -> ${printable(fix)}\n`;
	const printed = lines.map((line) => `         | ${printable(line)}\n`).join("");
	return `${stateStyled(LEVELS[level])}  ${check}: ${printable(message)}\n${printed}${fixLine}`;
}

function verdict(findings: readonly Finding[]): string {
	const count = (of: Finding["level"]): number => findings.filter(({ level }) => level === of).length;
	const [problems, warnings] = [count("problem"), count("warning")];
	const also = warnings === 0 ? "" : counted(warnings, "warning");
	if (problems > 0) return `Found ${counted(problems, "problem")}${also && ` and ${also}`}.`;
	return `No problems found${also && `, but ${also}`}.`;
}

async function checkSetup(connection: Connection, { config: file, store }: FlagValues): Promise<Finding[]> {
	const { base } = connection;
	const { env } = process;
	const loaded = loadConfig({ modules: MODULES, flags: { config: file, store }, env, cwd: process.cwd(), readFile });
	const config = loaded.ok ? loaded.config : undefined;
	const here = isLoopback(base);
	const isNew = here && config?.store.kind === "sqlite" && !existsSync(config.store.path);
	const service = await checkService(connection, { now: systemClock.now, isNew });
	const findings = [nodeFinding(process.versions.node)];
	if (config) {
		findings.push(ok("configuration", `${config.endpoints.length} endpoints are configured.`));
		if (service.answers && config.publicUrl !== undefined) findings.push(await publicUrlFinding(config.publicUrl));
		if (!here) {
			const elsewhere = `The service is at ${base}: its store, port, files and launchers cannot be checked from here.`;
			return [...findings, ok("configuration", elsewhere), ...service.findings];
		}
		findings.push(
			...(config.store.kind === "sqlite"
				? [storeFinding(config.store.path)]
				: await postgresFindings(config.store.url)),
			...folderFindings(config.dataDir),
		);
		findings.push(...(await moduleFindings(config.modules)));
		if (config.tls) findings.push(await certificateFinding(config.tls, systemClock.wall()));
		if (!service.answers && config.port !== 0) findings.push(await portFinding(config));
	}
	if (!loaded.ok)
		for (const each of loaded.problems)
			findings.push(problem("configuration", each, "Correct it; see docs/reference/config.md."));
	const served = here ? service.endpoints : [];
	const local = new Map([...(config?.endpoints ?? []), ...served].map((endpoint) => [endpoint.id, endpoint]));
	const launchersEnv = withoutSecrets(env, config?.secretVariables ?? []);
	const launchers = await launcherFindings([...local.values()], launchersEnv, config?.launchers);
	return [...findings, ...service.findings, ...launchers];
}

/** `settings`: by name of the module. */
async function moduleFindings(settings: Readonly<Record<string, unknown>>): Promise<Finding[]> {
	const q = { clock: systemClock, random: randomBytes };
	const found = MODULES.map(async ({ name, doctor: check }) =>
		settings[name] === undefined ? [] : ((await check?.(settings[name], q)) ?? []),
	);
	return (await Promise.all(found)).flat();
}

function isLoopback(base: string): boolean {
	return URL.canParse(base) && /^(?:localhost|127\.|\[::1\])/.test(new URL(base).hostname);
}
