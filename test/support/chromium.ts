/** A real browser for tests of the console: Chromium from npm, or the one that CHROMIUM names. */
import { chromium } from "playwright-core";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import type { TestContext } from "vitest";

/** A page, and what went wrong on it. */
export interface Watched {
  page: Page;
  /** Breaches of the page's policy, errors of its scripts, requests to other hosts; to be empty at the end of each test. */
  problems: string[];
}

/** Starts the browser; it is to be closed. */
export async function startChromium(): Promise<Browser> {
  return await chromium.launch({ executablePath: await program(), args: ["--disable-gpu", "--no-sandbox"] });
}

async function program(): Promise<string> {
  const named = process.env["CHROMIUM"];
  if (named !== undefined) return named;
  // The package brings the libraries that a bare machine lacks only where it believes to be on this platform.
  process.env["AWS_EXECUTION_ENV"] ??= "AWS_Lambda_nodejs22.x";
  const { default: packed } = await import("@sparticuz/chromium");
  return await packed.executablePath();
}

/** A window of its own, closed with the test. `origin`: the only one that may be called. */
export async function openPage({ onTestFinished }: Pick<TestContext, "onTestFinished">, { browser, origin, options }: { browser: Browser; origin: string; options?: BrowserContextOptions }): Promise<Watched> {
  const context = await browser.newContext({ locale: "en-GB", viewport: { width: 1280, height: 820 }, ...options });
  onTestFinished(() => context.close());
  const page = await context.newPage();
  const problems: string[] = [];
  page.on("pageerror", (error) => problems.push(error.message));
  page.on("request", (request) => {
    if (!request.url().startsWith(origin) && !/^(data|blob):/.test(request.url())) problems.push(`asked ${request.url().slice(0, 100)}`);
  });
  await page.exposeFunction("tellBreach", (text: string) => problems.push(text));
  await page.addInitScript(`document.addEventListener("securitypolicyviolation", ({ violatedDirective, blockedURI }) => tellBreach(violatedDirective + " " + blockedURI));`);
  return { page, problems };
}
