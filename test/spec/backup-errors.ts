/** How the errors of `/v1/backup` (D46) are produced. */
import { backups } from "../../src/kernel/engine/availability/storage/backups.ts";
import type { BackupStore } from "../../src/kernel/store/contract/backup.ts";
import type { Clock } from "../../src/kernel/system/clock.ts";
import { call, KEY, type TestService } from "../support/service.ts";
import { untilTrue } from "../support/until.ts";

type Answer = Awaited<ReturnType<typeof call>>;
type Parts = Partial<Pick<Parameters<typeof backups>[0], "backup" | "disk">>;

/** By code. */
export function backupErrors(
	service: () => TestService,
	clock: Clock,
): Record<`backup_${"running" | "elsewhere" | "space" | "failed"}`, () => Promise<Answer>> {
	const create = (): Promise<Answer> => call(service().url, "/v1/backup", { method: "POST" });

	/** Runs a request with backups of such a store. */
	async function within(parts: Parts, request: () => Promise<Answer>): Promise<Answer> {
		const { engine, events } = service();
		const original = { ...engine.backups };
		const none = { backup: undefined, disk: undefined };
		Object.assign(engine.backups, backups({ clock, events, ...none, ...parts }));
		try {
			return await request();
		} finally {
			Object.assign(engine.backups, original);
		}
	}

	const neverCopied: BackupStore["copy"] = ({ signal }) =>
		new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error)));
	const failing = (message: string): BackupStore => ({
		size: async () => 1,
		copy: () => Promise.reject(new Error(message)),
	});

	return {
		backup_running: () =>
			within({ backup: { size: async () => 0, copy: neverCopied } }, async () => {
				const leaving = new AbortController();
				const init = { method: "POST", headers: { authorization: KEY }, signal: leaving.signal };
				const first = fetch(`${service().url}/v1/backup`, init).catch(() => {});
				const state = (): string => service().engine.backups.status().state;
				await untilTrue(() => state() === "copying");
				const answer = await create();
				leaving.abort();
				await first;
				await untilTrue(() => state() === "none");
				return answer;
			}),
		backup_elsewhere: () => within({}, create),
		backup_space: () => {
			const { reservedDisk } = service().engine.budgets;
			const disk = { freeBytes: async () => 0, reserve: reservedDisk };
			return within({ backup: failing("not asked"), disk }, create);
		},
		backup_failed: () => within({ backup: failing("database or disk is full") }, create),
	};
}
