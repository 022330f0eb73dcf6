/** Mappings of known servers, by name. Data only: what a preset needs is a member of the mapping. */
import { COG } from "./cog.ts";
import { DOCLING } from "./docling.ts";
import { EMBEDDING_PRESETS } from "./embeddings.ts";
import { IMAGE_PRESETS } from "./images.ts";
import { LANGUAGE_MODEL_PRESETS } from "./language-models.ts";
import type { Preset } from "./preset.ts";
import { SPEECH_PRESETS } from "./speech.ts";
import { TRITON } from "./triton.ts";
import { VIDEO_PRESETS } from "./videos.ts";

export type { Preset } from "./preset.ts";

export const PRESETS: Readonly<Record<string, Preset>> = {
	raw: { title: "Any HTTP server: the input is POSTed to /, and the answer is the output", settings: {} },
	...LANGUAGE_MODEL_PRESETS,
	docling: DOCLING,
	cog: COG,
	...SPEECH_PRESETS,
	...EMBEDDING_PRESETS,
	triton: TRITON,
	...IMAGE_PRESETS,
	...VIDEO_PRESETS,
};
