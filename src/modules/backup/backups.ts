/** Backups of the store in use (D46): one at a time, within the free disk space. */
import type { Kernel } from "../../kernel/module.ts";
import { ApiError } from "../../kernel/core/errors.ts";
import { busOf } from "../../kernel/events.ts";
import type { BackupStore, StoreCopy } from "../../kernel/store/contract/store.ts";
import { ERRORS } from "./errors.ts";
import type { EVENTS } from "./events.ts";

/** `copying`: to the disk of the service. `sending`: the client reads the copy. */
export type BackupStatus = { state: "none" } | { state: "copying" | "sending"; doneBytes: number; totalBytes: number };

export type Copy = Pick<StoreCopy, "migration" | "files">;

type Send = (copy: Copy, sent: (bytes: number) => void) => Promise<void>;

export type Backups = Omit<ReturnType<typeof backups>, "service">;

export function backups(kernel: Pick<Kernel, "clock" | "disk" | "events" | "store">) {
	const { clock } = kernel;
	const events = busOf<typeof EVENTS>(kernel.events);
	let status: BackupStatus = { state: "none" };
	let running: Promise<void> | undefined;
	const stopping = new AbortController();

	/** Returns the free bytes in addition to the reserve for results (D41). */
	async function unreserved(): Promise<number> {
		const { disk } = kernel;
		return disk ? (await disk.freeBytes()) - disk.reserve.limit : Infinity;
	}

	async function checkSpace(from: BackupStore): Promise<void> {
		const [needed, free] = await Promise.all([from.size(), unreserved()]);
		if (needed <= free) return;
		throw new ApiError(ERRORS.backup_space, {
			needed: megabytes(needed),
			free: megabytes(Math.max(0, free)),
			reserve: megabytes(kernel.disk?.reserve.limit ?? 0),
		});
	}

	/** Makes the copy, and ends it if other programs have used the space in the meantime. */
	function copyOf(from: BackupStore, left: AbortSignal): Promise<StoreCopy> {
		const full = new AbortController();
		return from
			.copy({
				signal: AbortSignal.any([left, stopping.signal, full.signal]),
				progress({ copiedBytes, totalBytes }) {
					status = { state: "copying", doneBytes: copiedBytes, totalBytes };
					void unreserved().then(
						(free) => free < 0 && full.abort(new Error("the disk has become full meanwhile")),
						() => {},
					);
				},
			})
			.catch((error: unknown) => {
				if (left.aborted) throw new ApiError("request_timeout");
				if (stopping.signal.aborted) throw new ApiError("not_ready", { why: "is shutting down" });
				throw new ApiError(ERRORS.backup_failed, { why: (error as Error).message });
			});
	}

	async function make(from: BackupStore, left: AbortSignal, send: Send): Promise<void> {
		const begun = clock.now();
		await checkSpace(from);
		const copy = await copyOf(from, left);
		try {
			const totalBytes = copy.files.reduce((sum, { bytes }) => sum + bytes, 0);
			await send(copy, (doneBytes) => (status = { state: "sending", doneBytes, totalBytes }));
			events.emit("backup.sent", { bytes: totalBytes, ms: clock.now() - begun });
		} finally {
			await copy.close();
		}
	}

	return {
		status: () => status,
		/**
		 * Makes a copy, calls `send`, and removes the copy when `send` has settled. Throws `backup_elsewhere`,
		 * `backup_running`, `backup_space`, `backup_failed`.
		 */
		async run(left: AbortSignal, send: Send): Promise<void> {
			const { backup } = kernel.store;
			if (!backup) throw new ApiError(ERRORS.backup_elsewhere);
			if (running) throw new ApiError(ERRORS.backup_running);
			if (left.aborted) throw new ApiError("request_timeout");
			status = { state: "copying", doneBytes: 0, totalBytes: 0 };
			running = make(backup, left, send).finally(() => {
				running = undefined;
				status = { state: "none" };
			});
			await running;
		},
		service: {
			start() {},
			async stop() {
				stopping.abort();
				if (status.state === "copying") await running?.catch(() => {});
			},
		},
	};
}

function megabytes(bytes: number): number {
	return Math.ceil(bytes / 1_000_000);
}
