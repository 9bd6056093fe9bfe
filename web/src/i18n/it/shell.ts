import type { Part } from "../catalogue";
import type en from "../en/shell";

export default {
  "app.name": "Headway",
  "app.skipToContent": "Vai al contenuto",
  "nav.label": "Pagine",
  "nav.jobs": "Job",
  "nav.compare": "Confronto",
  "nav.fleet": "Flotta",
  "theme.label": "Tema",
  "theme.auto": "Come il sistema",
  "theme.light": "Chiaro",
  "theme.dark": "Scuro",
  "language.label": "Lingua",
  "connection.connecting": "Connessione al server…",
  "connection.away": "Il server non risponde",
  "connection.awayBody":
    "I dati mostrati risalgono a {since}. L’addestramento continua; i suoi rapporti attendono e verranno mostrati.",
  "connection.retrying": "Nuovo tentativo tra {seconds}",
  "connection.retryNow": "Riprova ora",
  "connection.live": "In diretta",
  "login.title": "Accedi da un terminale",
  "login.body":
    "Questa pagina mostra i job solo a chi gestisce il server. Aprila con il comando qui sotto, che fa accedere questo browser.",
  "login.again": "Controlla di nuovo",
  "page.notFound": "Questa pagina non esiste",
  "page.backToJobs": "Torna ai job",
  "common.unknown": "sconosciuto",
  "common.close": "Chiudi",
  "common.cancel": "Annulla",
  "common.copy": "Copia",
  "common.copied": "Copiato",
  "common.loading": "Caricamento",
  "common.retry": "Riprova",
  "common.error": "Qualcosa non ha funzionato",
  "common.andMore": { one: "e un altro", other: "e altri {count}" },
} satisfies Part<typeof en>;
