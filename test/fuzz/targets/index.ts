/** All targets, in the order of a round. */
import type { Target } from "../target.ts";
import { ADAPTER_BASE64, ADAPTER_MAPPINGS, ADAPTER_PATHS, ADAPTER_ROUTES, ADAPTER_STREAMS } from "./adapter.ts";
import { ADDRESS, WEBHOOK_URL } from "./addresses.ts";
import { BUCKET_ANSWERS } from "./bucket-answers.ts";
import { COMMANDS } from "./commands.ts";
import { FORMS } from "./forms.ts";
import { GPUS } from "./gpus.ts";
import { IMAGES } from "./images.ts";
import { BODY, CHUNK_SPLIT, ELEMENTS, JOB_TEXT, JSON_SCAN } from "./json.ts";
import { REPOSITORY } from "./repository.ts";
import { ORIGIN, QUERY, ROUTE_MATCH, USER_AGENT } from "./requests.ts";
import { JSON_MEMBERS, RESPONSE_EVENTS } from "./response-events.ts";
import { SERVICE } from "./service.ts";
import { CLI, CONFIG, MERGE, SCHEMAS } from "./settings.ts";
import { SLURM_JOBS } from "./slurm.ts";
import { STREAMS } from "./streams.ts";
import { LOG, OPENAI_ERROR, OPENAI_STREAM, PROMETHEUS, RATE_WINDOW, REPORT } from "./texts.ts";
import { VALUES } from "./values.ts";

export const TARGETS: readonly Target[] = [
	JSON_SCAN,
	CHUNK_SPLIT,
	BODY,
	BUCKET_ANSWERS,
	FORMS,
	ELEMENTS,
	JOB_TEXT,
	SCHEMAS,
	MERGE,
	CONFIG,
	CLI,
	COMMANDS,
	ADDRESS,
	WEBHOOK_URL,
	ROUTE_MATCH,
	QUERY,
	ORIGIN,
	USER_AGENT,
	REPORT,
	OPENAI_ERROR,
	OPENAI_STREAM,
	RESPONSE_EVENTS,
	JSON_MEMBERS,
	RATE_WINDOW,
	PROMETHEUS,
	LOG,
	SLURM_JOBS,
	GPUS,
	IMAGES,
	REPOSITORY,
	STREAMS,
	ADAPTER_STREAMS,
	ADAPTER_PATHS,
	ADAPTER_ROUTES,
	ADAPTER_MAPPINGS,
	ADAPTER_BASE64,
	VALUES,
	SERVICE,
];
