/** Both ways to read the process list, each against the real system. */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { describe, expect, it } from "vitest";
import { isFirstInContainer, type ProcessTable, procTable, psTable } from "./process-table.ts";
import { untilTrue } from "../../../../test/support/until.ts";

const tables: [string, ProcessTable][] = [["ps", psTable]];
if (process.platform === "linux") tables.unshift(["/proc", procTable]);

describe.each(tables)("process table by %s", (_, table) => {
	it("finds a process with its group, and nothing when it has ended", async () => {
		const leader = spawn("sleep", ["300"], { detached: true, stdio: "ignore" });
		const pid = leader.pid!;
		const row = table.find(pid);
		expect(row).toMatchObject({ pid, pgid: pid, ended: false });
		expect(row?.startTime).toBeTruthy();
		expect(table.all().find((each) => each.pid === pid)).toMatchObject({ pgid: pid, ended: false });
		leader.kill("SIGKILL");
		await once(leader, "exit");
		expect(table.find(pid)).toBeUndefined();
		expect(table.all().map((each) => each.pid)).not.toContain(pid);
	});

	it("knows a zombie, with its start time", async () => {
		// A parent that never again gets to its event loop, and so never collects its child.
		const script = `
      require("node:fs").writeSync(1, String(require("node:child_process").spawn("true").pid));
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);`;
		const parent = spawn(process.execPath, ["-e", script], { stdio: ["ignore", "pipe", "ignore"] });
		try {
			const [pidText] = await once(parent.stdout, "data");
			const pid = Number(String(pidText));
			await untilTrue(() => table.find(pid)?.ended === true);
			expect(table.find(pid)).toMatchObject({ pid, ended: true });
			expect(table.find(pid)?.startTime).toBeTruthy();
		} finally {
			parent.kill("SIGKILL");
			await once(parent, "exit");
		}
	});
});

describe.runIf(process.platform === "linux")("process table by /proc", () => {
	it("reads a name with spaces and brackets", async () => {
		const child = spawn(
			process.execPath,
			["-e", 'process.title = ") Z 1 ("; console.log("ready"); setTimeout(() => {}, 300000)'],
			{
				stdio: ["ignore", "pipe", "ignore"],
				detached: true,
			},
		);
		try {
			await once(child.stdout, "data");
			expect(procTable.find(child.pid!)).toMatchObject({ pgid: child.pid, ended: false });
		} finally {
			child.kill("SIGKILL");
			await once(child, "exit");
		}
	});

	it("D34: without a free file descriptor no process counts as ended", () => {
		const script = `
			import { openSync } from "node:fs";
			import { procTable } from ${JSON.stringify(import.meta.resolve("./process-table.ts"))};
			try { for (;;) openSync("/dev/null"); } catch {}
			const codes = [procTable.find, procTable.environment, procTable.boot, procTable.all].map((read) => {
				try { return read(process.ppid) ?? "ended"; } catch (error) { return error.code; }
			});
			process.stdout.write(codes.join(" "));`;
		const node = [process.execPath, "--input-type=module", "-e", script];
		const found = execFileSync("sh", ["-c", 'ulimit -n 100 && exec "$@"', "sh", ...node], { encoding: "utf8" });
		expect(found).toBe("EMFILE EMFILE EMFILE EMFILE");
	});

	it("reads the environment a process was started with", async () => {
		const child = spawn("sleep", ["300"], {
			env: { PATH: "/usr/bin:/bin", MARK: "a=b\nc" },
			stdio: "ignore",
		});
		expect(new Set(procTable.environment(child.pid!))).toEqual(new Set(["MARK=a=b\nc", "PATH=/usr/bin:/bin"]));
		child.kill("SIGKILL");
		await once(child, "exit");
		expect(procTable.environment(child.pid!)).toEqual([]);
	});
});

it.runIf(process.platform === "linux")(
	"D34: workers end with a service that is the first process of its container",
	() => {
		expect(isFirstInContainer({ pid: 1, ppid: 0 })).toBe(true);
		expect(isFirstInContainer({ pid: 7, ppid: 6 })).toBe(false);
	},
);
