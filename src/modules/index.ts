/** The modules, in the order in which their services start. Removing an import and its entry removes the module. */
import { alerts } from "./alerts/module.ts";
import { audit } from "./audit/module.ts";
import { backup } from "./backup/module.ts";
import { console } from "./console/module.ts";
import { docker } from "./docker/module.ts";
import { files } from "./files/module.ts";
import { gpus } from "./gpus/module.ts";
import { httpWorkers } from "./http-workers/module.ts";
import { logs } from "./logs/module.ts";
import { management } from "./management/module.ts";
import { metrics } from "./metrics/module.ts";
import type { ServiceModule } from "./module.ts";
import { openai } from "./openai/module.ts";
import { openaiAsync } from "./openai-async/module.ts";
import { openaiVideos } from "./openai-videos/module.ts";
import { quotas } from "./quotas/module.ts";
import { registries } from "./registries/module.ts";
import { releases } from "./releases/module.ts";
import { s3 } from "./s3/module.ts";
import { telemetry } from "./telemetry/module.ts";
import { webhooks } from "./webhooks/module.ts";

export const MODULES: readonly ServiceModule[] = [
	metrics,
	alerts,
	audit,
	backup,
	console,
	docker,
	files,
	gpus,
	httpWorkers,
	logs,
	management,
	openai,
	openaiAsync,
	openaiVideos,
	quotas,
	registries,
	releases,
	s3,
	telemetry,
	webhooks,
];
