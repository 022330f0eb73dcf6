/**
 * Pairs of changes of one endpoint at two servers on PostgreSQL, at once: changes that were answered 200 and are lost,
 * ids that were created twice, deleted endpoints that come back. Prints JSON. `node bench/attacks/two-servers.ts
 * [pairs]`: of each kind.
 */
import { startPostgres } from "../../test/support/postgres-server.ts";
import { type Attacked, attacked, counts, print, sleep } from "./parts/attacked.ts";
import { eventually, judged } from "./parts/verdict.ts";

const [pairs = "60"] = process.argv.slice(2);
const AT_ONCE = 4;
/** By when all deletions have ended. */
const DELETED_MS = 20_000;
const SETTINGS = { name: "made", launcher: { type: "external" }, env: { A: "0" }, workersMax: 2 };

type Answer = Awaited<ReturnType<Attacked["call"]>>;
type Two = readonly [Attacked, Attacked];

let made = 0;
const send = ({ call }: Attacked, method: string, path: string, body?: object): Promise<Answer> =>
	call(`/v1/endpoints${path}`, { method, ...(body && { body: JSON.stringify(body) }) });

async function fresh([a]: Two): Promise<string> {
	const id = `ep-${(made += 1)}`;
	const { status } = await send(a, "POST", "", { id, ...SETTINGS });
	if (status !== 201) throw new Error(`a creation was answered ${status}`);
	return id;
}

/** As each server reads it from the store: a dry run of a change does. */
async function storedAt(server: Attacked, id: string): Promise<Answer> {
	await send(server, "PUT", `/${id}?dryRun=true`, SETTINGS);
	return await send(server, "GET", `/${id}`);
}

const CHANGES: Record<string, readonly [object, object, (json: any) => readonly [boolean, boolean]]> = {
	"two members": [
		{ name: "changed" },
		{ idleTimeout: 77 },
		({ name, idleTimeout }) => [name === "changed", idleTimeout === 77],
	],
	"env and a member": [
		{ env: { A: "0", B: "1" } },
		{ workersMax: 3 },
		({ env, workersMax }) => ["B" in env || env.includes?.("B"), workersMax === 3],
	],
};

async function lostChanges(two: Two, name: string): Promise<string> {
	const [first, second, isThere] = CHANGES[name]!;
	const id = await fresh(two);
	const answers = await Promise.all([send(two[0], "PATCH", `/${id}`, first), send(two[1], "PATCH", `/${id}`, second)]);
	for (const server of two) {
		const there = isThere((await storedAt(server, id)).json);
		if (answers.some(({ status }, at) => status === 200 && !there[at])) return "lost";
	}
	const refused = answers.find(({ status }) => status !== 200);
	return refused ? `refused with ${refused.status}` : "kept";
}

async function creations([a, b]: Two): Promise<string> {
	const body = { id: `ep-${(made += 1)}`, ...SETTINGS };
	const answers = await Promise.all([send(a, "POST", "", body), send(b, "POST", "", body)]);
	return answers
		.map(({ status }) => status)
		.toSorted((x, y) => x - y)
		.join(", ");
}

/** Deletes an endpoint and changes it at once. */
async function deletions(two: Two, deleted: Set<string>): Promise<string> {
	const id = await fresh(two);
	const [removal] = await Promise.all([
		send(two[0], "DELETE", `/${id}`),
		send(two[1], "PATCH", `/${id}`, { name: "changed" }),
	]);
	if (removal.status === 200) deleted.add(id);
	return `answered ${removal.status}`;
}

async function repeated(pair: () => Promise<string>): Promise<Record<string, number>> {
	const found: string[] = [];
	let left = Number(pairs);
	const one = async (): Promise<void> => {
		while (left-- > 0) found.push(await pair());
	};
	await Promise.all(Array.from({ length: AT_ONCE }, one));
	return counts(found);
}

/** How many of these are at a server. A deletion ends in the background; then nothing may bring the endpoint back. */
async function stillThere(two: Two, deleted: ReadonlySet<string>): Promise<number> {
	let there = 0;
	for (const id of deleted) {
		const answers = [await storedAt(two[0], id), await storedAt(two[1], id)];
		if (answers.some(({ status }) => status !== 404)) there += 1;
	}
	return there;
}

async function attack(two: Two): Promise<object> {
	const changes: Record<string, Record<string, number>> = {};
	for (const name of Object.keys(CHANGES)) changes[name] = await repeated(() => lostChanges(two, name));
	const created = await repeated(() => creations(two));
	const deleted = new Set<string>();
	const removed = await repeated(() => deletions(two, deleted));
	await eventually(async () => (await stillThere(two, deleted)) === 0, DELETED_MS);
	await sleep(2000);
	const lost = Object.values(changes).reduce((sum, { lost: count = 0 }) => sum + count, 0);
	return {
		...judged({
			lostChanges: { found: lost, atMost: 0 },
			createdTwice: { found: created["201, 201"] ?? 0, atMost: 0 },
			createdOnce: { found: created["201, 409"] ?? 0, atLeast: Number(pairs) },
			deletedEndpointsThatAreThere: { found: await stillThere(two, deleted), atMost: 0 },
		}),
		pairsOfEach: Number(pairs),
		changes,
		created,
		removed,
	};
}

const postgres = await startPostgres();
try {
	const { url: store } = await postgres.createDatabase();
	const figures = await attacked({ store }, (a) => attacked({ store }, (b) => attack([a, b])));
	print("two-servers", figures);
} finally {
	await postgres.remove();
}
