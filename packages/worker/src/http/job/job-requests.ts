/** The requests of one job: what they are made of, how they are sent, and what is freed when the job has ended. */
import type { Clock } from "../../clock.ts";
import type { Context } from "../../types.ts";
import type { ConnectOptions, Server } from "../exchange/connection.ts";
import { type Exchange, readStart } from "../exchange/exchange.ts";
import { type JobValues, jobValues, type PreparedRequest, prepareRequest } from "../exchange/request.ts";
import { callServer } from "../exchange/server-call.ts";
import type { Hide } from "../mapping/credentials.ts";
import type { Call } from "../mapping/mapping.ts";
import type { Names } from "../mapping/template.ts";
import { type JobMapping, OPENAI_ERROR } from "../openai.ts";
import type { Readiness } from "../server/readiness.ts";
import { type SendOptions, sendUntilAnswered } from "./outcome.ts";

/** `mapping`: that of the job. */
export interface JobRequestOptions extends JobMapping {
	context: Context;
	server: Server;
	/** In templates. Undefined without a port. */
	port: number | undefined;
	/** Variables for headers. */
	env: Readonly<Record<string, string | undefined>>;
	readiness: Readiness;
	clock: Clock;
	/** 0 to below 1. */
	random: () => number;
	hide: Hide;
	/** Random ids, such as boundaries of forms. */
	randomId: () => string;
	/** Where temporary files are. Default: that of the system. */
	folder?: string | undefined;
}

/** Bytes of an answer to an upload that are read. */
const UPLOADED_BYTES = 65_536;

export class JobRequests {
	/** Names of templates. Those of the submission and of the last poll are added when they are known. */
	names: Names;
	/** Of the job's connections. */
	readonly limits: ConnectOptions & { signal: AbortSignal };
	readonly #options: JobRequestOptions;
	readonly #values: JobValues;
	readonly #closing = new AbortController();
	readonly #fetched = { files: 0, bytes: 0 };
	#job: PreparedRequest | undefined;

	constructor(options: JobRequestOptions) {
		const { job, mapping, openai, env, port, clock } = options;
		this.#options = options;
		this.#values = { ...jobValues(job, { mapping, env, port }), ...openai };
		this.names = this.#values.names;
		this.limits = { connectMs: mapping.timeouts.connectMs, clock, signal: this.#closing.signal };
	}

	/** Closes the connections of the job. */
	close(): void {
		this.#closing.abort();
	}

	async release(): Promise<void> {
		await this.#job?.release();
	}

	/** `more`: names beside those of the job. The caller releases it. */
	prepare(call: Call, more: Names = {}): Promise<PreparedRequest> {
		const { mapping, env, randomId, folder } = this.#options;
		const ownFiles = env["BUCKET_ENDPOINT_URL"] || undefined;
		const context = { ...this.limits, urls: mapping.urls, ownFiles, fetched: this.#fetched, randomId, folder };
		return prepareRequest(call, { ...this.#values, names: { ...this.names, ...more } }, context);
	}

	/** The request that runs the job. */
	async sendJob(asksForEvents: boolean, onSent: SendOptions["onSent"]): Promise<Exchange> {
		const { mapping } = this.#options;
		const request = await this.prepare(mapping.request);
		this.#job = request;
		request.headers["idempotency-key"] ??= this.#values.idempotencyKey;
		if (asksForEvents && mapping.request.headers["accept"] === undefined)
			request.headers["accept"] = "text/event-stream";
		return await sendUntilAnswered(request, { ...this.#sendOptions(), onSent });
	}

	/** A request that has no files and does not run the job, so that a cancellation only closes it. */
	async send(call: Call, more: Names, errors = this.#options.mapping.errors): Promise<Exchange> {
		const request = await this.prepare(call, more);
		return await sendUntilAnswered(request, { ...this.#sendOptions(), errors, onSent: () => {} });
	}

	/** Sends a file before the request of the job, and frees it. Its answer is not used. */
	async upload(call: Call, more: Names): Promise<void> {
		const request = await this.prepare(call, more);
		try {
			const answer = await sendUntilAnswered(request, { ...this.#sendOptions(), onSent: () => {} });
			await readStart(answer, UPLOADED_BYTES);
		} finally {
			await request.release();
		}
	}

	/** JSON of the answer. A cancellation does not close it. */
	async ask(call: Call, withinMs: number): Promise<unknown> {
		const { connectMs, clock } = this.limits;
		const request = await this.prepare(call);
		return (await callServer(this.#options.server, request, { connectMs, clock, withinMs })).value;
	}

	#sendOptions(): Omit<SendOptions, "onSent"> {
		const { mapping, openai, server, readiness, context, random, hide } = this.#options;
		const errorPrefix = openai ? OPENAI_ERROR : "";
		const stopped = context.signal;
		return { ...this.limits, server, errors: mapping.errors, errorPrefix, readiness, stopped, random, hide };
	}
}
