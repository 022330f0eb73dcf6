import type { Preset } from "./preset.ts";

export const IMAGE_PRESETS: Readonly<Record<string, Preset>> = {
	comfyui: {
		title: "ComfyUI: the input has a workflow in API format, and images with name and image, which it loads",
		settings: {
			port: 8188,
			ready: { path: "/system_stats" },
			request: {
				path: "/prompt",
				body: {
					prompt: "{input.workflow}",
					// Versions before it was taken choose an id themselves, and find no earlier attempt.
					prompt_id: "{job.runUuid}",
					client_id: "{job.uuid}",
					extra_data: "{input.extra_data}",
				},
				uploads: [
					{
						each: "{input.images}",
						path: "/upload/image",
						form: { overwrite: "true" },
						files: [{ field: "image", from: "{each.image}", name: "{each.name}" }],
					},
				],
			},
			// The history has a prompt from its end on. The WebSocket, which has progress, may fall silent for good.
			async: {
				// A prompt that ends between the two questions is in the history.
				existing: {
					checks: [
						{ path: "/queue", contains: "{job.runUuid}" },
						{ path: "/history/{job.runUuid}", at: "/{job.runUuid}/status/status_str", in: ["success"] },
					],
					submit: { prompt_id: "{job.runUuid}" },
					// Polls would find an attempt that was interrupted, and fail the job.
					discard: { path: "/history", body: { delete: ["{job.runUuid}"] } },
				},
				path: "/history/{submit.prompt_id}",
				everyMs: 500,
				state: "/{submit.prompt_id}/status/status_str",
				done: ["success"],
				failed: ["error"],
			},
			failed: [
				{
					at: "/{submit.prompt_id}/status/status_str",
					in: ["error"],
					message: "/{submit.prompt_id}/status/messages",
				},
			],
			answer: {
				at: "/{submit.prompt_id}/outputs",
				files: {
					path: "/view",
					query: { filename: "{file.filename}", subfolder: "{file.subfolder}", type: "{file.type}" },
					// Previews are of type temp.
					where: { at: "/type", in: ["output"] },
				},
			},
			cancel: { path: "/interrupt", body: { prompt_id: "{submit.prompt_id}" } },
			// It answers at once, and frees the memory later. The next prompt loads the models again. The memory of PyTorch
			// is that of this server alone, so that the bound does not depend on the GPU and on what else runs there.
			sleep: {
				path: "/free",
				body: { unload_models: true, free_memory: true },
				until: { path: "/system_stats", at: "/devices/0/torch_vram_total", atMost: 1_073_741_824 },
			},
		},
	},
	a1111: {
		title: "AUTOMATIC1111, Forge, SD.Next with --api: txt2img, and img2img for inputs with init_images",
		settings: {
			port: 7860,
			ready: { path: "/sdapi/v1/options" },
			request: { path: "/sdapi/v1/txt2img", paths: { init_images: "/sdapi/v1/img2img" } },
			// Progress and interruption are of what runs, which is this job: the server has one at a time.
			progress: { path: "/sdapi/v1/progress?skip_current_image=true", percent: "/progress", scale: 100 },
			cancel: { path: "/sdapi/v1/interrupt" },
			sleep: { path: "/sdapi/v1/unload-checkpoint" },
			wake: { path: "/sdapi/v1/reload-checkpoint" },
		},
	},
	sdcpp: {
		title: "sd-server of stable-diffusion.cpp: pictures",
		settings: {
			port: 1234,
			ready: { path: "/sdcpp/v1/capabilities" },
			request: { path: "/sdcpp/v1/img_gen" },
			async: {
				path: "/sdcpp/v1/jobs/{submit.id}",
				done: ["completed"],
				failed: ["failed"],
				cancelled: ["cancelled"],
			},
			answer: { at: "/result" },
			failed: [{ at: "/status", in: ["failed"], message: "/error" }],
			cancel: { path: "/sdcpp/v1/jobs/{submit.id}/cancel" },
		},
	},
	"comfyui-api": {
		title: "comfyui-api: the input's prompt is a workflow in API format",
		settings: {
			port: 3000,
			ready: { path: "/ready" },
			request: {
				path: "/prompt",
				body: { id: "{job.uuid}", prompt: "{input.prompt}", convert_output: "{input.convert_output}" },
			},
			cancel: { path: "/interrupt", body: { id: "{job.uuid}" } },
		},
	},
};
