/**
 * `docs/reference/config.md`: options of the service and settings of endpoints, from the schemas
 * that check them.
 */
import { type Option, OPTIONS } from "../../src/kernel/config/options.ts";
import { MODULES } from "../../src/modules/index.ts";
import type { ServiceModule } from "../../src/modules/module.ts";
import { HOST_SCHEMA } from "../../src/modules/docker/hosts/host-schema.ts";
import { boundTexts, typeText } from "../api-page/schema-text.ts";
import { code, type Page, plain, table } from "./markdown.ts";
import { schemaTable } from "./schema.ts";
import type { Schema } from "../../src/kernel/lib/schema.ts";
import { ENDPOINT_SCHEMA } from "../../src/kernel/launchers/endpoint-settings.ts";

export const config: Page = {
	file: "config.md",
	title: "Configuration",
	about: "options of the service, environment variables, `sluice.yaml`",
	body() {
		const rows = Object.values<Option>(OPTIONS).map(({ flag, env, file, schema }) => {
			const bounds = boundTexts(schema).filter((text) => !text.startsWith("matches"));
			return [
				flag === undefined ? "" : code(`--${flag}`),
				code(env),
				file === undefined ? "" : code(file),
				[typeText(schema), ...bounds].join(", "),
				plain(schema.description ?? "") + (schema.writeOnly ? " A secret." : ""),
			];
		});
		const { oneOf = [], ...launcher }: Schema = ENDPOINT_SCHEMA.properties.launcher;
		const properties = {
			...ENDPOINT_SCHEMA.properties,
			launcher: { type: "object", ...launcher } as const,
		};
		return `
A flag takes precedence over the environment, the environment over the file. With an invalid
configuration the service prints every problem with its field and bound and exits with code 2.

## Options of the service

${table(["Flag", "Environment", "sluice.yaml", "Value", "Meaning"], rows)}

Commands find the service by \`SLUICE_URL\` (default \`http://127.0.0.1:8080\`) and \`SLUICE_API_KEY\`.
With \`SLUICE_CA\`, a PEM file, they accept certificates of that authority.

## Settings of an endpoint

Under \`endpoints.<id>\` in \`sluice.yaml\`, and the same over \`/v1/endpoints\`. An id has 1 to 64
of the characters a-z, A-Z, 0-9, _ and -. Endpoints of the file are created or updated at start;
others in the store stay. In a file, a value of \`env\` and \`webhookSecret\` may be \`\${NAME}\`, a variable of
the service's environment; the text itself is written \`$\${NAME}\`.

Wherever a value is a number of ms, s or seconds, text such as \`500ms\`, \`30s\`, \`5m\`, \`1h30m\` or \`7d\` is
accepted too, in the file, in flags, in variables and in bodies of \`/v1/endpoints\`.

${schemaTable({ ...ENDPOINT_SCHEMA, properties })}

\`\`\`yaml
endpoints:
  thumbnail:
    workersMin: 0
    workersMax: 3
    idleTimeout: 5
    launcher: { type: process, command: [node, worker.js] }
    limits: { run: { per10s: 5000 }, queue: 10000 }
publicUrl: http://192.168.1.10:8080
cors: { origins: ["https://app.example.com"] }
webhooks: { allowPrivateNetworks: false }
\`\`\`

## Hosts

Machines with Docker for \`launcher.hosts\`, under \`hosts.<name>\` in \`sluice.yaml\`
([guide](../guides/docker-hosts.md)).

${schemaTable(HOST_SCHEMA)}

${MODULES.flatMap(moduleSection).join("")}## Launchers

\`launcher\` of an endpoint: the type, and the settings of that launcher.

${oneOf.map((branch) => launcherSection(branch)).join("\n\n")}`;
	},
};

/** A heading for the type, what it does, and its settings. */
function launcherSection({ properties = {}, ...schema }: Schema): string {
	const { type, ...settings } = properties;
	const { required = [] } = schema;
	const lines = [`### ${code(String(type?.const))}`, plain(type?.description ?? "")];
	if (Object.keys(settings).length > 0)
		lines.push(
			schemaTable({
				...schema,
				properties: settings,
				required: required.filter((name) => name !== "type"),
			}),
		);
	return lines.join("\n\n");
}

/** Guides that have not the name of their module. */
const GUIDES: Readonly<Record<string, string>> = {
	management: "management-api.md",
	registries: "docker.md#images-and-registries",
	s3: "files.md#buckets-with-the-s3-api",
};

/** The member of a module in `sluice.yaml`. */
function moduleSection({ name, settings }: ServiceModule): string[] {
	if (!settings) return [];
	const { additionalProperties: others } = settings.schema;
	const each = typeof others === "object" ? others : undefined;
	const member = each ? `${name}.<name>` : name;
	const guide = GUIDES[name] ?? `${name}.md`;
	const title = name.charAt(0).toUpperCase() + name.slice(1);
	return [
		`## ${title}

${settings.schema.description} Under \`${member}\` in \`sluice.yaml\` ([guide](../guides/${guide})). A text may be
\`\${NAME}\`, a variable of the service's environment; the text itself is written \`$\${NAME}\`.

${schemaTable(each ?? settings.schema)}

`,
	];
}
