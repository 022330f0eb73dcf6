/** On all returns, so that one of another copy of the kit, as within a bundled handler, is known, too. */
const BRAND = Symbol.for("sluice-worker.JobReturn");

/**
 * Thrown by a handler, it gives the job back to the queue, where any worker may take it, instead of failing it. A
 * service that does not know returns, such as RunPod, gets it as a failure.
 *
 * ```js
 * if (!(await isServerUp())) throw new JobReturn("the server does not answer");
 * ```
 */
export class JobReturn extends Error {
	/** Whether it counts as a loss, of which the third fails the job: the job may be why it could not run. */
	readonly loss: boolean;

	/** `reason` is shown in the timeline of the job; of a longer one the first 500 characters. */
	constructor(reason: string, { loss = false }: { loss?: boolean } = {}) {
		super(reason);
		this.name = "JobReturn";
		this.loss = loss === true;
		Object.defineProperty(this, BRAND, { value: true });
	}
}

export function isJobReturn(thrown: unknown): thrown is JobReturn {
	return typeof thrown === "object" && thrown !== null && BRAND in thrown;
}
