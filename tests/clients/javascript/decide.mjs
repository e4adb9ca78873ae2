// Asks a server as JavaScript clients do, and prints what came back as one JSON object.
import { TypeSafeClient, choice, noul, score } from "@typesafe-ai/sdk";
import OpenAI from "openai";

const url = process.argv[2];
const client = new TypeSafeClient({ apiKey: "unused", baseURL: url });
const questions = {
  n: noul("Is the customer angry?"),
  c: choice("Which?", { z: null, a: "delivery" }),
  d: choice(null, { z: null, a: "delivery" }),
  s: score(null, ["low", { much: 1 }]),
};

async function failure(asked, model = "decider") {
  try {
    await client.systemOne({ model, state: "x", questions: asked });
    return null;
  } catch (error) {
    return { name: error.constructor.name, status: error.status, message: error.message };
  }
}

const answers = [];
for (const state of ["late", { a: 1 }, ["x", { b: null }]]) {
  answers.push(await client.systemOne({ model: "decider", state, questions }));
}
const openai = new OpenAI({ apiKey: "unused", baseURL: `${url}/v1` });
console.log(
  JSON.stringify({
    models: await client.models.list(),
    answers,
    silent: await failure({ n: noul() }),
    level: await failure({ s: score(null, ["a", null]) }),
    unknown: await failure({ n: noul("x") }, "nobody"),
    openai: (await openai.models.list()).data.map((model) => model.id),
  }),
);
