/**
 * Operators that change the same endpoints and templates at all servers at once, and read them. What a server shows
 * is what the store has: it is asked for a comparison first, for which it reads the store.
 */
import type { Answer, Api, Call } from "./api.ts";
import type { ChangeOp, Members } from "./history.ts";
import type { Time } from "./time.ts";
import type { Tracker } from "./tracker.ts";

const PAUSE_MS = 300;
const RETRY_MS = 50;

/** Endpoints that exist to be created and deleted, and templates, at one time; changes of one before it is left. */
const [SPARE, TEMPLATES, CHANGES] = [2, 2, 60];

/** What is left is read again at the end, the latest of each kind. */
const REMEMBERED = 100;

/** Part of the operations that read. */
const READS = 0.35;

export interface OperatorOptions {
	api: Api;
	time: Time;
	tracker: Tracker;
	random: () => number;
	/** Endpoints that carry jobs: the settings that these need. */
	busy: Readonly<Record<string, object>>;
}

interface Thing {
	kind: "endpoint" | "template";
	/** Of a template known when it is created. */
	id: string | undefined;
	/** Settings that every change keeps. */
	settings: object;
	isBusy: boolean;
	changes: number;
}

type Step = (thing: Thing) => Promise<void>;

export interface Operators {
	/** Makes the endpoints that carry jobs. */
	makeBusy(): Promise<void>;
	/** One of them, until the signal. */
	work(by: string, signal: AbortSignal): Promise<void>;
	/** Reads all objects at each of these servers. */
	readAll(servers: readonly string[]): Promise<void>;
}

const SPARE_SETTINGS = { launcher: { type: "external" } };

export function operators({ api, time, tracker, random, busy }: OperatorOptions): Operators {
	let serial = 0;
	const next = (): number => (serial += 1);
	const whole = (most: number): number => Math.floor(random() * most);
	const things: Thing[] = Object.entries(busy).map(([id, settings]) => thing("endpoint", id, settings, true));
	for (let n = 0; n < SPARE; n += 1) things.push(spare());
	for (let n = 0; n < TEMPLATES; n += 1) things.push(thing("template", undefined, {}, false));
	const left: Thing[] = [];

	function thing(kind: Thing["kind"], id: string | undefined, settings: object, isBusy: boolean): Thing {
		return { kind, id, settings, isBusy, changes: 0 };
	}

	function spare(): Thing {
		return thing("endpoint", `changed-${next()}`, SPARE_SETTINGS, false);
	}

	/** Puts another one in its place, so that the history of an object stays short. */
	function leave(old: Thing): void {
		const at = things.indexOf(old);
		if (at < 0) return;
		things[at] = old.kind === "endpoint" ? spare() : thing("template", undefined, {}, false);
		left.push(old);
		if (left.length > REMEMBERED) left.shift();
	}

	/** Sends a change and records it. */
	async function change(
		by: string,
		q: { kind: Thing["kind"]; id?: string | undefined; how: ChangeOp["how"]; sets?: Members; path: string } & Call,
	): Promise<Answer> {
		const { kind, how, sets = {}, path, ...call } = q;
		const server = api.url(whole(1000));
		const answer = await api.call(`${server}${path}`, call);
		const { result, from, to, json } = answer;
		const id = q.id ?? (json?.id as string | undefined);
		if (id === undefined) return answer;
		const made = how === "put" && result === "ok" ? (json.action === "create" ? "create" : "set") : how;
		tracker.record({ op: "change", by, object: `${kind} ${id}`, server, how: made, sets, result, from, to });
		return answer;
	}

	const send = (method: "POST" | "PUT" | "PATCH", body: object): Call => ({ method, body: JSON.stringify(body) });

	/** New values of members, as requests of `/v1` name them, and as they are shown. */
	const variables = () => {
		const env = { N: String(next()) };
		return { body: { env }, sets: { env: JSON.stringify(env) } };
	};
	const bounds = () => {
		const [workersMax, idleTimeout] = [10 + whole(900), 1 + whole(3600)];
		return { body: { workersMax, idleTimeout }, sets: { max: String(workersMax), idle: String(idleTimeout) } };
	};
	const all = (settings: object) => {
		const [first, second, name] = [variables(), bounds(), `name-${next()}`];
		const body = { ...settings, ...first.body, ...second.body, name };
		return { body, sets: { ...first.sets, ...second.sets, name } };
	};

	const put =
		(by: string): Step =>
		async ({ kind, id, settings }) => {
			const { body, sets } = all(settings);
			await change(by, { kind, id, how: "put", sets, path: `/v1/endpoints/${id}`, ...send("PUT", body) });
		};

	function endpointSteps(by: string): Record<"any" | "spare", readonly Step[]> {
		const kind = "endpoint";
		const set = async (
			id: string | undefined,
			{ body, sets }: { body: object; sets: Members },
			path = "/v1/endpoints",
		) => void (await change(by, { kind, id, how: "set", sets, path: `${path}/${id}`, ...send("PATCH", body) }));
		const create: Step = async ({ id, settings }) => {
			const { body, sets } = all(settings);
			await change(by, { kind, id, how: "create", sets, path: "/v1/endpoints", ...send("POST", { id, ...body }) });
		};
		const remove =
			(path: string): Step =>
			async ({ id }) =>
				void (await change(by, { kind, id, how: "delete", path: `${path}/${id}`, method: "DELETE" }));
		return {
			any: [
				({ id }) => set(id, variables()),
				({ id }) => set(id, bounds()),
				({ id }) => set(id, variables(), "/v2/serverless"),
				({ id }) => {
					const { body, sets } = bounds();
					const workers = { max: body.workersMax, idleTimeout: body.idleTimeout };
					return set(id, { body: { workers }, sets }, "/v2/serverless");
				},
				put(by),
			],
			// Mostly they exist.
			spare: [create, create, remove("/v1/endpoints"), remove("/v2/serverless")],
		};
	}

	async function changeTemplate(by: string, each: Thing): Promise<void> {
		const kind = "template";
		const path = "/v2/templates";
		const [{ body: env, sets }, name] = [variables(), `name-${next()}`];
		const { id } = each;
		if (id === undefined) {
			const made = { ...send("POST", { ...env, name, image: "a:1" }), sets: { ...sets, name } };
			const { result, json } = await change(by, { kind, how: "create", path, ...made });
			if (result === "ok") each.id ??= json.id as string;
			// Two that created one at once: the other one is not used, and read at the end.
			if (result === "ok" && each.id !== json.id) left.push({ ...each, id: json.id });
			return;
		}
		const at = `${path}/${id}`;
		if (random() < 0.1) {
			const { result } = await change(by, { kind, id, how: "delete", path: at, method: "DELETE" });
			if (result === "ok") leave(each);
			return;
		}
		const changed = random() < 0.5 ? { body: env, sets } : { body: { name }, sets: { name } };
		await change(by, { kind, id, how: "set", sets: changed.sets, path: at, ...send("PATCH", changed.body) });
	}

	async function changeOne(by: string, each: Thing): Promise<void> {
		each.changes += 1;
		if (each.changes > CHANGES && !each.isBusy) leave(each);
		if (each.kind === "template") return await changeTemplate(by, each);
		const { any, spare: more } = endpointSteps(by);
		const steps = each.isBusy ? any : [...any, ...more];
		await steps[whole(steps.length)]!(each);
	}

	/** Whether the server answered. */
	async function read(by: string, { kind, id, settings }: Thing, server: string): Promise<boolean> {
		const { now } = time;
		const from = now();
		if (kind === "endpoint") {
			const compared = await api.call(`${server}/v1/endpoints/${id}?dryRun=true`, send("PUT", settings));
			// 409: it is being deleted.
			if (compared.result !== "ok" && compared.status !== 409) return false;
		}
		const path = kind === "endpoint" ? "/v2/serverless" : "/v2/templates";
		const { result, status, json } = await api.call(`${server}${path}/${id}`);
		if (result !== "ok" && status !== 404) return false;
		const shown = status === 404 ? { missing: true as const } : { members: membersOf(kind, json) };
		tracker.record({ op: "shown", by, object: `${kind} ${id}`, server, ...shown, result, from, to: now() });
		return true;
	}

	return {
		async makeBusy() {
			for (const each of things.filter(({ isBusy }) => isBusy)) await put("first operator")(each);
		},
		async work(by, signal) {
			while (!signal.aborted) {
				const each = things[whole(things.length)]!;
				if (random() < READS && each.id !== undefined) await read(by, each, api.url(whole(1000)));
				else await changeOne(by, each);
				await time.sleep(random() * PAUSE_MS, signal);
			}
		},
		async readAll(servers) {
			for (const each of [...left, ...things])
				for (const server of each.id === undefined ? [] : servers)
					while (!(await read("audit", each, server))) await time.sleep(RETRY_MS);
		},
	};
}

function membersOf(kind: Thing["kind"], { name, env, workers }: any): Members {
	const members = { name, env: JSON.stringify(env) };
	return kind === "template" ? members : { ...members, max: String(workers.max), idle: String(workers.idleTimeout) };
}
