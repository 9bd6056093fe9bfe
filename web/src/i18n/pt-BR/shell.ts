import type { Part } from "../catalogue";
import type en from "../en/shell";

export default {
  "app.name": "Headway",
  "app.skipToContent": "Ir para o conteúdo",
  "nav.label": "Páginas",
  "nav.jobs": "Jobs",
  "nav.compare": "Comparar",
  "nav.fleet": "Frota",
  "theme.label": "Tema",
  "theme.auto": "Igual ao sistema",
  "theme.light": "Claro",
  "theme.dark": "Escuro",
  "language.label": "Idioma",
  "connection.connecting": "Conectando ao servidor…",
  "connection.away": "O servidor não responde",
  "connection.awayBody":
    "Os dados exibidos são de {since}. O treinamento continua; os relatórios aguardam e serão exibidos.",
  "connection.retrying": "Nova tentativa em {seconds}",
  "connection.retryNow": "Tentar agora",
  "connection.live": "Ao vivo",
  "login.title": "Entre a partir de um terminal",
  "login.body":
    "Esta página só mostra os jobs a quem executa o servidor. Abra-a com o comando abaixo, que conecta este navegador.",
  "login.again": "Verificar de novo",
  "page.notFound": "Esta página não existe",
  "page.backToJobs": "Voltar aos jobs",
  "common.unknown": "desconhecido",
  "common.close": "Fechar",
  "common.cancel": "Cancelar",
  "common.copy": "Copiar",
  "common.copied": "Copiado",
  "common.loading": "Carregando",
  "common.retry": "Tentar de novo",
  "common.error": "Isso não funcionou",
  "common.andMore": { one: "e mais {count}", other: "e mais {count}" },
} satisfies Part<typeof en>;
