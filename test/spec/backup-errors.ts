/** How the errors of `/v1/backup` (D46) are produced. */
import { backup } from "../../src/modules/backup/module.ts";
import { openBackup } from "../../src/modules/backup/open.ts";
import { MODULES } from "../../src/modules/index.ts";
import type { Kernel } from "../../src/kernel/module.ts";
import type { BackupStore } from "../../src/kernel/store/contract/store.ts";
import { call, KEY, type TestService } from "../support/service.ts";
import { untilTrue } from "../support/until.ts";

type Answer = Awaited<ReturnType<typeof call>>;

/** What backups find in place of the service's store and disk, while a request runs. */
type Parts = Partial<Pick<Kernel, "disk">> & { backup?: BackupStore };
let planted: Parts | undefined;

/** The modules of a service whose backups find what is planted. */
export const WITH_PLANTED_BACKUPS = MODULES.map((module) =>
	module === backup
		? {
				...module,
				open: (kernel: Kernel) =>
					openBackup({
						...kernel,
						get disk() {
							return planted ? planted.disk : kernel.disk;
						},
						get store() {
							return planted ? { ...kernel.store, backup: planted.backup } : kernel.store;
						},
					} as Kernel),
			}
		: module,
);

/** By code. */
export function backupErrors(
	service: () => TestService,
): Record<`backup_${"running" | "elsewhere" | "space" | "failed"}`, () => Promise<Answer>> {
	const create = (): Promise<Answer> => call(service().url, "/v1/backup", { method: "POST" });

	async function within(parts: Parts, request: () => Promise<Answer>): Promise<Answer> {
		planted = parts;
		try {
			return await request();
		} finally {
			planted = undefined;
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
				const state = async (): Promise<string> => (await call(service().url, "/v1/backup")).json.state;
				await untilTrue(async () => (await state()) === "copying");
				const answer = await create();
				leaving.abort();
				await first;
				await untilTrue(async () => (await state()) === "none");
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
