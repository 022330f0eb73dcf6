/**
 * The unit of `deploy/systemd` on a machine with systemd: a container in which systemd is the first
 * process and docs/guides/systemd.md was followed (D34).
 */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, it, type TestContext } from "vitest";
import { docker } from "../support/docker.ts";
import { BASE, buildServiceImage, noServiceImage } from "../support/service-image.ts";
import { until } from "../support/until.ts";

const UNIT = fileURLToPath(new URL("../../deploy/systemd", import.meta.url));
const DOCKERFILE = fileURLToPath(new URL("../support/images/systemd.Dockerfile", import.meta.url));
const GUIDE = readFileSync(new URL("../../docs/guides/systemd.md", import.meta.url), "utf8");
const IMAGE = "sluice-test-systemd:latest";

/** The guide's commands that write the configuration and start the service. */
const COMMANDS = [...GUIDE.matchAll(/```sh\n([^]*?)```/g)][1]![1]!;

/** Runs a script in the container. */
type Shell = (script: string) => Promise<string>;

async function machine(test: TestContext): Promise<Shell> {
	const open = ["seccomp", "apparmor", "systempaths"].map((name) => `${name}=unconfined`);
	const id = await docker(
		...["run", "--detach", "--network", "none", "--cgroupns", "host", "--tmpfs", "/run"],
		...["--tmpfs", "/tmp", "--volume", "/sys/fs/cgroup:/sys/fs/cgroup"],
		...["SYS_ADMIN", "NET_ADMIN", "SYS_PTRACE"].flatMap((each) => ["--cap-add", each]),
		...open.flatMap((each) => ["--security-opt", each]),
		IMAGE,
	);
	test.onTestFinished(async () => void (await docker("rm", "--force", id)));
	const shell: Shell = (script) => docker("exec", id, "sh", "-ec", script);
	await until(
		"systemd has started",
		async () => /running|degraded/.test(await shell("systemctl is-system-running || true")),
		60_000,
	);
	return shell;
}

describe.skipIf(noServiceImage !== undefined)(
	noServiceImage === undefined ? "systemd" : `systemd (skipped: ${noServiceImage})`,
	() => {
		beforeAll(async () => {
			await buildServiceImage();
			await docker(
				...["build", "--network", "host", "--build-arg", `BASE=${BASE}`],
				...["-t", IMAGE, "-f", DOCKERFILE, UNIT],
			);
		}, 900_000);

		it("D34: the unit is valid, starts when it is ready, restarts after a crash, stops cleanly", {
			timeout: 180_000,
		}, async (test) => {
			const shell = await machine(test);
			await shell("systemd-sysusers");
			expect(await shell("systemd-analyze verify sluice.service 2>&1")).toBe("");
			const rating = await shell("systemd-analyze security sluice.service | tail -n 1");
			expect(GUIDE).toContain(`rates it ${/level for sluice.service: (\S+)/.exec(rating)?.[1]}`);
			await shell(COMMANDS);
			expect(await shell("systemctl is-active sluice")).toBe("active");
			const curl = '. /etc/sluice/environment; curl -sf -H "Authorization: Bearer $SLUICE_API_KEY"';
			const run = `${curl} --json '{"input":{}}' http://127.0.0.1:8080/v2/hello/run`;
			const job = JSON.parse(await shell(run)).id as string;
			const user = "stat -c %U /proc/$(systemctl show sluice -p MainPID --value)";
			expect(await shell(user)).toBe("sluice");

			await shell("systemctl kill --signal=KILL sluice");
			await until("it was restarted", async () => {
				return (await shell("systemctl show sluice -p NRestarts --value")) === "1";
			});
			await until("it is active", async () => {
				return (await shell("systemctl is-active sluice || true")) === "active";
			});
			const read = `${curl} http://127.0.0.1:8080/v2/hello/status/${job}`;
			expect(JSON.parse(await shell(read)).status).toBe("IN_QUEUE");

			await shell("systemctl stop sluice");
			expect(await shell("systemctl show sluice -p Result --value")).toBe("success");
			expect(await shell("stat -c '%U %a' /var/lib/sluice /etc/sluice/environment")).toBe("sluice 700\nroot 600");
		});
	},
);
