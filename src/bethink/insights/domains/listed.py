"""Names that both wordings and templates go by: lists, separated by commas."""

# ruff: noqa: E501 - a list is read whole

from __future__ import annotations

__all__ = ["FRAMEWORKS", "LANGUAGES", "LEARNING", "TOOLS"]

LANGUAGES = "python,typescript,javascript,java,kotlin,scala,swift,objective-c,go,golang,rust,c++,c#,php,ruby,elixir,erlang,haskell,clojure,dart,lua,perl,julia,zig,sql,bash"
"""Programming languages."""
FRAMEWORKS = (
    "django,flask,fastapi,starlette,pydantic,sqlalchemy,react,react native,next.js,nextjs,vue,nuxt,svelte,sveltekit,angular,remix,astro,express,nestjs,spring,spring boot,quarkus,rails,ruby on rails,"
    "sinatra,laravel,symfony,phoenix,flutter,swiftui,jetpack compose,pytorch,tensorflow,numpy,pandas,polars,langchain,langgraph,tailwind,tailwindcss,bootstrap,htmx,axum,actix,tokio,gin,.net,asp.net"
)
TOOLS = (
    "pytest,unittest,jest,vitest,mocha,playwright,cypress,selenium,junit,rspec,hypothesis,ruff,black,flake8,pylint,mypy,pyright,eslint,prettier,biome,clippy,rustfmt,gofmt,poetry,uv,pip,pipenv,conda,npm,pnpm,yarn,bun,"
    "cargo,maven,gradle,bazel,make,cmake,docker,docker compose,podman,kubernetes,helm,terraform,ansible,github actions,gitlab ci,circleci,jenkins,git,github,gitlab,bitbucket,postgres,postgresql,mysql,mariadb,sqlite,"
    "mongodb,redis,kafka,rabbitmq,elasticsearch,snowflake,bigquery,aws,gcp,azure,vercel,netlify,heroku,fly.io,cloudflare workers,vim,neovim,emacs,vs code,vscode,pycharm,intellij,sentry,datadog,grafana,prometheus,"
    "openapi,graphql,grpc,protobuf,sphinx,mkdocs,storybook,webpack,vite,esbuild,node,node.js,deno,celery,airflow,dbt,nginx,nix"
)
LEARNING = "studying,learning,taking,preparing for,training for"
"""What somebody does who learns: verbs of `doing` and `plan` insights."""
