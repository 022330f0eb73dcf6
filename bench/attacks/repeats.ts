/**
 * What a caller or a crash may repeat: sign-ins of a read key (entries of the audit), and kills of the
 * service within a rate window (submissions admitted, 30 in 10 s allowed). Prints JSON. `node
 * bench/attacks/repeats.ts`.
 */
import { attacked, print } from "./parts/attacked.ts";

const SIGN_IN_MS = 5000;
const [PER_10S, KILLS] = [30, 3];

const audit = await attacked({}, async ({ call, keyOf }) => {
	const key = await keyOf("read");
	const until = performance.now() + SIGN_IN_MS;
	let signIns = 0;
	const client = async (): Promise<void> => {
		while (performance.now() < until) {
			const { status } = await call("/console/session", { body: JSON.stringify({ key }), key: "" });
			if (status === 200) signIns += 1;
		}
	};
	await Promise.all(Array.from({ length: 16 }, client));
	let entries = 0;
	for (let next = ""; ; ) {
		const { json } = await call(`/v1/audit?limit=100${next}`);
		entries += json.entries.length;
		if (!json.next) break;
		next = `&cursor=${encodeURIComponent(json.next)}`;
	}
	return { seconds: SIGN_IN_MS / 1000, signIns, entries };
});

const window = await attacked({ endpoint: { limits: { run: { per10s: PER_10S } } } }, async (service) => {
	const began = performance.now();
	let admitted = 0;
	for (let kill = 0; kill <= KILLS; kill += 1) {
		if (kill > 0) await service.restart("SIGKILL");
		for (let count = 0; count < 2 * PER_10S; count += 1)
			if ((await service.call("/v2/noop/run", { body: '{"input":{}}' })).status === 200) admitted += 1;
	}
	return { allowedIn10s: PER_10S, kills: KILLS, seconds: Math.round((performance.now() - began) / 100) / 10, admitted };
});
print("repeats", { audit, window });
