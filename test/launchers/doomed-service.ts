/**
 * A service of one worker, for tests to kill: starts the WorkerSpec in argv[3] with logs in argv[2]
 * and prints the handle. Then waits without end, or closes with argv[4] "close".
 */
import { systemClock } from "../../src/kernel/system/clock.ts";
import type { WorkerSpec } from "../../src/kernel/launchers/launcher.ts";
import { ProcessLauncher } from "../../src/kernel/launchers/process/launcher.ts";

const [logDir = "", spec = "", then] = process.argv.slice(2);
const launcher = new ProcessLauncher({ clock: systemClock, logDir });
const handle = await launcher.start(JSON.parse(spec) as WorkerSpec);
process.stdout.write(`${JSON.stringify(handle)}\n`);
if (then === "close") await launcher.close();
