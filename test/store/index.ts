/**
 * The conformance suite: what every store promises by its contract, in one file per noun. Anything
 * found wrong in one dialect is first written here. The suite uses nothing but the contract.
 */
import { afterAll, beforeAll, describe } from "vitest";
import type { Store } from "../../src/kernel/store/contract/store.ts";
import { documentCases } from "./documents.ts";
import { attemptCases } from "./attempts.ts";
import { chunkCases } from "./chunks.ts";
import { claimCases } from "./claim.ts";
import { countCases } from "./counts.ts";
import { deadlineCases } from "./deadlines.ts";
import { endedWorkerCases } from "./ended-workers.ts";
import { endpointCases } from "./endpoints.ts";
import { idempotencyCases } from "./idempotency.ts";
import { jobCases } from "./jobs.ts";
import { keyCases } from "./keys.ts";
import { lateReportCases } from "./late-reports.ts";
import { limitCases } from "./limits.ts";
import { listCases } from "./lists.ts";
import { machineCases } from "./machine.ts";
import { metricsCases } from "./metrics.ts";
import { payloadCases } from "./payloads.ts";
import { propertyCases } from "./properties.ts";
import { purgeCases } from "./purge.ts";
import { releaseCases } from "./releases.ts";
import { registryCases } from "./registries.ts";
import { resourceCases } from "./resources.ts";
import { retentionCases } from "./retention.ts";
import { returnCases } from "./returns.ts";
import { searchCases } from "./searches.ts";
import { secretCases } from "./secrets.ts";
import { batchCases } from "./batches.ts";
import { fileCases } from "./files.ts";
import { objectCases } from "./objects.ts";
import { hostCases } from "./hosts.ts";
import { sessionCases } from "./sessions.ts";
import { storedCases } from "./stored-bytes.ts";
import { signalCases } from "./signals.ts";
import { webhookReceiverCases } from "./webhook-receivers.ts";
import { webhookCases } from "./webhooks.ts";
import { workerCases } from "./workers.ts";

/** What the cases of one noun are given. */
export interface Bed {
	/** A store that many cases share; each uses an endpoint of its own. */
	store: () => Store;
	/**
	 * A fresh store of this case alone, for operations that touch all endpoints. The case closes it.
	 */
	open: () => Promise<Store>;
}

const CASES: Record<string, (bed: Bed) => void> = {
	jobs: jobCases,
	claim: claimCases,
	counts: countCases,
	deadlines: deadlineCases,
	retention: retentionCases,
	idempotency: idempotencyCases,
	lists: listCases,
	searches: searchCases,
	purge: purgeCases,
	machine: machineCases,
	attempts: attemptCases,
	"late reports": lateReportCases,
	returns: returnCases,
	chunks: chunkCases,
	payloads: payloadCases,
	workers: workerCases,
	"ended workers": endedWorkerCases,
	endpoints: endpointCases,
	keys: keyCases,
	files: fileCases,
	batches: batchCases,
	objects: objectCases,
	hosts: hostCases,
	sessions: sessionCases,
	releases: releaseCases,
	registries: registryCases,
	resources: resourceCases,
	webhooks: webhookCases,
	"webhook receivers": webhookReceiverCases,
	metrics: metricsCases,
	limits: limitCases,
	alerts: documentCases,
	secrets: secretCases,
	signals: signalCases,
	stored: storedCases,
	properties: propertyCases,
};

/**
 * Declares the suite for one dialect. `open` gives a fresh, empty store; `skip` names nouns it
 * cannot keep.
 */
export function conformance(
	name: string,
	{ open, skip = [] }: { open: () => Promise<Store>; skip?: readonly string[] },
): void {
	describe(`store contract: ${name}`, () => {
		for (const [noun, cases] of Object.entries(CASES)) {
			describe.skipIf(skip.includes(noun))(`${noun}`, () => {
				let store: Store | undefined;
				beforeAll(async () => {
					store = await open();
				});
				afterAll(() => store?.close());
				cases({
					open,
					store() {
						if (!store) throw new Error("The store of this group is not open.");
						return store;
					},
				});
			});
		}
	});
}
