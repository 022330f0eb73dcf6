/** One job on the server: its requests, its cancellation, what is left when it has ended. */
import { JobReturn } from "../job-return.ts";
import type { Clock } from "../clock.ts";
import type { RawJson } from "../raw-json.ts";
import { StreamOutput } from "../stream-output.ts";
import type { Context, Job } from "../types.ts";
import { type AnswerOptions, parseJson, readOutput, tooLarge } from "./answer.ts";
import { cancelJob } from "./cancel.ts";
import type { Server } from "./connection.ts";
import { type Exchange, readStart } from "./exchange.ts";
import type { Call, Mapping } from "./mapping.ts";
import { inList, type JobMapping, OPENAI_ERROR } from "./openai.ts";
import { lossOf, sendUntilAnswered } from "./outcome.ts";
import { pollUntilDone } from "./poll.ts";
import { createProgress, pollProgress } from "./progress.ts";
import type { Readiness } from "./readiness.ts";
import { type JobValues, jobValues, type PreparedRequest, prepareRequest } from "./request.ts";
import { callServer } from "./server-call.ts";
import { heardBody, type Silence, watchSilence } from "./silence.ts";
import { chunksOf } from "./stream.ts";
import { fill, type Names } from "./template.ts";

export interface JobHandlerOptions {
	mapping: Mapping;
	server: Server;
	/** In templates. Undefined without a port. */
	port: number | undefined;
	/** Variables for headers. */
	env: Readonly<Record<string, string | undefined>>;
	readiness: Readiness;
	/** Ends the server if it is the worker's own. The worker ends with it. */
	kill: (reason: string) => void;
	clock: Clock;
	/** 0 to below 1. */
	random: () => number;
	/** Random ids, such as boundaries of forms. */
	randomId: () => string;
	/** Where temporary files are. Default: that of the system. */
	folder?: string | undefined;
}

/** `mapping`: that of the job. */
export interface SessionOptions extends JobHandlerOptions, JobMapping {
	job: Job;
	context: Context;
	/** Whether the server has no other job of this worker. */
	isAlone: () => boolean;
}

/** The output, or the chunks of a stream and then its output. */
export type JobOutput = RawJson | AsyncGenerator<RawJson | StreamOutput, void>;

export class JobSession {
	readonly #options: SessionOptions;
	readonly #values: JobValues;
	readonly #output: AnswerOptions;
	/** Closes the connections of the job. */
	readonly #closing = new AbortController();
	readonly #ended = new AbortController();
	readonly #submitted = Promise.withResolvers<void>();
	readonly #release: () => void;
	readonly #onStop = (): void => this.#cancel("the service stopped it");
	readonly #progress: ((value: unknown) => void) | undefined;
	#names: Names;
	#request: PreparedRequest | undefined;
	#silence: Silence | undefined;
	/** Sentence about a server that sends nothing. */
	#silent: string | undefined;
	/** The server may have the job. */
	#isSent = false;
	/** With true if the server had ended the job before its connections were closed. */
	#cancelled: Promise<boolean> | undefined;

	constructor(options: SessionOptions) {
		const { job, mapping, openai, env, port, readiness, context, clock, folder } = options;
		this.#options = options;
		this.#values = { ...jobValues(job, { mapping, env, port }), ...openai };
		this.#names = this.#values.names;
		this.#output = { answer: mapping.answer, failed: mapping.failed, folder };
		this.#release = readiness.opened();
		if (mapping.progress)
			this.#progress = createProgress({ progress: mapping.progress, report: context.progress, clock });
		context.signal.addEventListener("abort", this.#onStop);
	}

	/** Throws `JobFailure` and {@link JobReturn}; after a stop of the job, any error. */
	async run(): Promise<JobOutput> {
		const { mapping, openai, server, readiness, context, random } = this.#options;
		const { stream, errors } = mapping;
		const asksForStream = stream !== undefined && (stream.when === "always" || fill(stream.when, this.#names) === true);
		try {
			const request = await this.#prepare(mapping.request);
			this.#request = request;
			request.headers["idempotency-key"] ??= this.#values.idempotencyKey;
			if (asksForStream && stream.as === "sse" && mapping.request.headers["accept"] === undefined)
				request.headers["accept"] = "text/event-stream";
			this.#pollProgress();
			const silence = asksForStream || mapping.async ? this.#watchSilence() : undefined;
			const received = await sendUntilAnswered(request, {
				...this.#limits(),
				server,
				errors,
				errorPrefix: openai ? OPENAI_ERROR : "",
				readiness,
				stopped: context.signal,
				random,
				onSent: (sent) => {
					this.#isSent = sent;
					if (sent) silence?.heard();
					else silence?.pause();
				},
			});
			const answer = silence ? { ...received, body: heardBody(received.body, silence) } : received;
			if (mapping.async) return this.#unlessSilent(await this.#runAsync(answer));
			// A server that does not stream this request answers with the whole.
			const streams = stream?.as !== "sse" || /^text\/event-stream\b/i.test(answer.headers["content-type"] ?? "");
			if (!asksForStream || !streams) {
				const output = this.#unlessSilent(await readOutput(answer, this.#output));
				return openai ? inList(output) : output;
			}
			const chunks = chunksOf(answer, stream, mapping.answer.maxBytes);
			return this.#unlessSilentStream(chunks);
		} catch (error) {
			throw await this.failure(error);
		}
	}

	/** What an error of a request or a stream means for the job. */
	async failure(error: unknown): Promise<unknown> {
		const { context, readiness } = this.#options;
		if (this.#silent !== undefined) return new JobReturn(this.#silent, { loss: true });
		return context.signal.aborted ? error : await lossOf(error, { readiness, signal: this.#closing.signal });
	}

	/** Resolves when nothing of the job is left, also not its cancellation. */
	async end(): Promise<void> {
		this.#ended.abort();
		this.#silence?.stop();
		this.#options.context.signal.removeEventListener("abort", this.#onStop);
		await this.#cancelled;
		this.#closing.abort();
		await this.#request?.release();
		this.#release();
	}

	/** A job that was cancelled because the server was silent may have ended early, and well. */
	#unlessSilent<T>(output: T): T {
		if (this.#silent !== undefined) throw new JobReturn(this.#silent, { loss: true });
		return output;
	}

	async *#unlessSilentStream(
		chunks: AsyncGenerator<RawJson | StreamOutput, void>,
	): AsyncGenerator<RawJson | StreamOutput, void> {
		for await (const each of chunks) yield each instanceof StreamOutput ? this.#unlessSilent(each) : each;
	}

	#limits() {
		const { mapping, clock } = this.#options;
		return { connectMs: mapping.timeouts.connectMs, clock, signal: this.#closing.signal };
	}

	#prepare(call: Call): Promise<PreparedRequest> {
		const { mapping, randomId, folder } = this.#options;
		const context = { ...this.#limits(), urls: mapping.urls, randomId, folder };
		return prepareRequest(call, { ...this.#values, names: this.#names }, context);
	}

	/** JSON of the answer. The request is not one of the job's, which a cancellation closes. */
	async #short(call: Call, withinMs: number): Promise<unknown> {
		const { server } = this.#options;
		const { connectMs, clock } = this.#limits();
		return (await callServer(server, await this.#prepare(call), { connectMs, clock, withinMs })).value;
	}

	#pollProgress(): void {
		const { mapping, clock } = this.#options;
		if (!mapping.progress?.call) return;
		const { call, everyMs } = mapping.progress;
		void pollProgress(() => this.#short(call, everyMs), {
			everyMs,
			clock,
			ended: this.#ended.signal,
			onValue: (value) => this.#progress?.(value),
		});
	}

	async #runAsync(answer: Exchange): Promise<RawJson> {
		const { mapping, server, readiness } = this.#options;
		const limits = this.#limits();
		const { maxBytes } = mapping.answer;
		const { text, end } = await readStart(answer, { maxBytes, withinMs: undefined, clock: limits.clock });
		if (end === "bound") throw tooLarge("The answer to the submission", maxBytes);
		if (end === "cut")
			throw new JobReturn(`The answer to the submission was cut at ${text.length} characters.`, { loss: true });
		this.#names = { ...this.#names, submit: parseJson(text) };
		this.#submitted.resolve();
		this.#silence?.heard();
		return await pollUntilDone({
			...limits,
			server,
			async: mapping.async!,
			errors: mapping.errors,
			output: this.#output,
			readiness,
			prepare: (call) => this.#prepare(call),
			onDone: () => this.#silence?.pause(),
			onPoll: (value) => {
				this.#silence?.heard();
				this.#names = { ...this.#names, poll: value };
				if (mapping.progress?.from === "poll") this.#progress?.(value);
			},
		});
	}

	#watchSilence(): Silence {
		const { mapping, clock, isAlone, kill } = this.#options;
		const { silenceMs } = mapping.timeouts;
		const onSilence = async (): Promise<void> => {
			const what = `sent nothing for ${silenceMs} ms`;
			this.#silent = `The server ${what}.`;
			this.#cancel(`the server ${what}`);
			const hasEnded = await this.#cancelled;
			if (!hasEnded && isAlone()) kill(`it ${what}`);
		};
		this.#silence = watchSilence({ silenceMs, clock, onSilence: () => void onSilence() });
		return this.#silence;
	}

	#cancel(reason: string): void {
		const { mapping, context, clock, isAlone, kill } = this.#options;
		if (this.#ended.signal.aborted || this.#cancelled) return;
		if (!this.#isSent) return this.#closing.abort();
		const { call, waitMs } = mapping.cancel;
		context.log(`Cancelling the job on the server: ${reason}.`);
		this.#cancelled = cancelJob({
			cancel: mapping.cancel,
			isAsync: mapping.async !== undefined,
			callRoute: async () => {
				// Before the answer to the submission there is no id to name.
				if (mapping.async) await Promise.race([this.#submitted.promise, clock.sleep(waitMs, this.#ended.signal)]);
				if (call && (!mapping.async || "submit" in this.#names)) await this.#short(call, waitMs);
			},
			close: () => this.#closing.abort(),
			ended: this.#ended.signal,
			kill: (why) => void (isAlone() && kill(why)),
			clock,
			log: (message) => context.log(message, "WARN"),
		});
	}
}
