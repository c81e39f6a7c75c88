// Grades configurations by the promptfoo that is installed in a folder: `node promptfoo_verdicts.mjs FOLDER IN OUT`.
// IN is a list of configurations, whose provider answers the variable `out`; OUT gets for each a list of
// {success, score, error}, one a test as the program numbers them, or the error at which it refused the file.
import { readFileSync, writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [folder, from, to] = process.argv.slice(2);
const home = `${folder}/node_modules/promptfoo`;
const { main, exports } = JSON.parse(readFileSync(`${home}/package.json`, "utf8"));
const entry = exports?.["."]?.import;
const loaded = await import(pathToFileURL(`${home}/${entry?.default ?? entry ?? main}`));
const program = loaded.default?.evaluate ? loaded.default : loaded;
const answers = async (_, context) => ({ output: context.vars.out });
const verdicts = [];
for (const config of JSON.parse(readFileSync(from, "utf8"))) {
  try {
    const run = await program.evaluate({ ...config, providers: [answers] }, { cache: false, maxConcurrency: 1, showProgressBar: false });
    const rows = run.results;
    verdicts.push(rows
      .map((row) => ({ test: row.testIdx, success: row.success, score: row.score, error: row.failureReason === 2 }))
      .sort((one, other) => one.test - other.test));
  } catch (error) {
    verdicts.push(String(error.message));
  }
}
writeFileSync(to, JSON.stringify(verdicts));
process.exit(0);
