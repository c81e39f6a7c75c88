// Grades configurations by the promptfoo that is installed in a folder, whose grader is an endpoint:
// `node promptfoo_judges.mjs FOLDER IN OUT URL`. IN is a list of configurations, whose provider answers the variable
// `out`; OUT gets for each a list of {success, score, output}, one a test as the program numbers them.
import { readFileSync, writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [folder, from, to, url] = process.argv.slice(2);
const home = `${folder}/node_modules/promptfoo`;
const { main, exports } = JSON.parse(readFileSync(`${home}/package.json`, "utf8"));
const entry = exports?.["."]?.import;
const loaded = await import(pathToFileURL(`${home}/${entry?.default ?? entry ?? main}`));
const program = loaded.default?.evaluate ? loaded.default : loaded;
const answers = async (_, context) => ({ output: context.vars.out });
const provider = { id: "openai:chat:m", config: { apiBaseUrl: url, apiKey: "none", temperature: 0.5, max_tokens: 1024 } };
const verdicts = [];
for (const config of JSON.parse(readFileSync(from, "utf8"))) {
  const defaults = { ...config.defaultTest, options: { ...config.defaultTest?.options, provider } };
  const run = await program.evaluate(
    { ...config, defaultTest: defaults, providers: [answers] },
    { cache: false, maxConcurrency: 1, showProgressBar: false },
  );
  verdicts.push(run.results
    .map((row) => ({ test: row.testIdx, success: row.success, score: row.score, output: row.response.output }))
    .sort((one, other) => one.test - other.test));
}
writeFileSync(to, JSON.stringify(verdicts));
process.exit(0);
