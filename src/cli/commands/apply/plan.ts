/** Compares the endpoints of a file with those of a service. */
import type { ChangedEndpoint, Endpoint } from "../../../kernel/api/endpoints.ts";
import { withDurationTexts } from "../../../kernel/core/durations.ts";
import { MOST_COMPARED } from "../../../kernel/core/endpoints/endpoint-changes.ts";
import { ENDPOINT_SCHEMA } from "../../../kernel/launchers/endpoint-settings.ts";
import { isObject } from "../../../kernel/lib/schema.ts";
import { printable } from "../../../kernel/lib/terminal-text.ts";
import { CliError } from "../../client/errors.ts";
import { path, type ServiceClient } from "../../client/service-client.ts";
import { styled } from "../../framework/style.ts";

/** Maximum characters of settings in one comparison, unless one endpoint has more. */
const MOST_TEXT = 500_000;

type Settings = Readonly<Record<string, unknown>>;
type Change = ChangedEndpoint["changes"][number];

export interface PlannedEndpoint {
	id: string;
	action: ChangedEndpoint["action"] | "delete";
	changes: Change[];
	applied: boolean;
}

export interface Plan {
	endpoints: PlannedEndpoint[];
	/** Endpoints of the service that the file does not name. */
	untouched: string[];
}

/** The service compares: it alone knows the values of env. Throws {@link CliError}. */
export async function planOf(
	service: ServiceClient,
	endpoints: ReadonlyMap<string, Settings>,
	{ prune }: { prune: boolean },
): Promise<Plan> {
	const listed = (await service.request("GET", "/v1/endpoints")).json as { endpoints: Endpoint[] };
	const others = listed.endpoints.map(({ id }) => id).filter((id) => !endpoints.has(id));
	const planned: PlannedEndpoint[] = [];
	for (const page of pagesOf(endpoints)) {
		const answer = await service.request("POST", "/v1/diff", { endpoints: Object.fromEntries(page) });
		planned.push(...(answer.json as { endpoints: ChangedEndpoint[] }).endpoints);
	}
	if (!prune) return { endpoints: planned, untouched: others };
	for (const id of others) planned.push({ id, action: "delete", changes: [], applied: false });
	return { endpoints: planned, untouched: [] };
}

/** Splits the endpoints into comparisons. */
function pagesOf(endpoints: ReadonlyMap<string, Settings>): [string, Settings][][] {
	const pages: [string, Settings][][] = [];
	let room = 0;
	for (const entry of endpoints) {
		const size = JSON.stringify(entry).length;
		if (size > room || pages.at(-1)!.length === MOST_COMPARED) {
			pages.push([]);
			room = MOST_TEXT;
		}
		pages.at(-1)!.push(entry);
		room -= size;
	}
	return pages;
}

/** Throws {@link CliError}, which names the endpoint. */
export async function putEndpoint(service: ServiceClient, id: string, settings: Settings): Promise<ChangedEndpoint> {
	const answer = await service.request("PUT", path`/v1/endpoints/${id}`, settings).catch((error: unknown) => {
		if (!(error instanceof CliError) || error.status === undefined) throw error;
		throw new CliError(`Endpoint '${id}': ${error.message}`, 1, error.status);
	});
	return answer.json as ChangedEndpoint;
}

export function changesIn({ endpoints }: Plan): PlannedEndpoint[] {
	return endpoints.filter(({ action }) => action !== "none");
}

const MARKS = { create: "+", add: "+", update: "~", change: "~", delete: "-", remove: "-", none: " " } as const;
const COLOURS = { "+": "green", "~": "yellow", "-": "red", " ": "dim" } as const;
const NOTES = { create: " (new)", delete: " (with its jobs)", update: "", none: "" } as const;

export function planText(plan: Plan, stream: NodeJS.WritableStream): string {
	const changed = changesIn(plan);
	const line = (action: keyof typeof MARKS, text: string, indent = ""): string => {
		const mark = MARKS[action];
		return `${indent}${styled(COLOURS[mark], `${mark} ${printable(text)}`, stream)}\n`;
	};
	const blocks = changed.map(
		({ id, action, changes }) =>
			line(action, `${id}${NOTES[action]}`) +
			changes.map((each) => line(each.action, changeText(each), "    ")).join(""),
	);
	const { untouched } = plan;
	const others =
		untouched.length === 0 ? "" : `Not in the file and untouched (--prune deletes them): ${untouched.join(", ")}\n`;
	return [...blocks, others, `${summary(plan)}\n`].join("");
}

function summary({ endpoints }: Plan): string {
	const count = (action: PlannedEndpoint["action"]): number =>
		endpoints.filter((each) => each.action === action).length;
	if (count("none") === endpoints.length) return "No changes.";
	const [made, changed, deleted, same] = (["create", "update", "delete", "none"] as const).map(count);
	return `${made} to create, ${changed} to change, ${deleted} to delete, ${same} unchanged.`;
}

function changeText({ field, action, before, after }: Change): string {
	if (before === undefined && after === undefined) return `${field} (the value is not shown)`;
	const [old, now] = [valueText(field, before), valueText(field, after)];
	return `${field}: ${action === "change" ? `${old} -> ${now}` : action === "add" ? now : old}`;
}

/** Returns a value in the form of the file. */
function valueText(field: string, value: unknown): string {
	const names = field.split(".");
	const nested = names.reduceRight<unknown>((inner, name) => ({ [name]: inner }), value);
	const shown = names.reduce<unknown>(
		(at, name) => (isObject(at) ? at[name] : at),
		withDurationTexts(ENDPOINT_SCHEMA, nested),
	);
	return typeof shown === "string" && /^[\w./:@-]+$/.test(shown) ? shown : (JSON.stringify(shown) ?? "");
}
