"""The table of endpoints: path, required right, parameters, and the type of the answer."""

from __future__ import annotations

from typing import Any

from tidegate.serve.api import answering as answers
from tidegate.serve.api import shapes, trials, view_shapes, views
from tidegate.serve.api.endpoint import AS_OF, NAMESPACE, Endpoint, Parameter
from tidegate.serve.api.views import answer_ledger

_KIND = Parameter(
    "kind", "Kind of its job, where the name alone may mean several: job, pytorchjob."
)
_QUEUE = Parameter("queue", "Only this ClusterQueue.")
_OF = Parameter("of", "Only the tree of this ClusterQueue or Cohort.")
_DETAIL = Parameter(
    "detail",
    "brief: its own events alone; usual: what stood around the newest, too; whole: around all.",
    choices=("brief", "usual", "whole"),
)
_FORMAT = Parameter(
    "format",
    "table and wide are text, as the command prints it.",
    choices=("json", "table", "wide"),
)
_AFTER = Parameter("after", "Behind this seq, of several partitions 0=41,1=7; default: the newest.")
_EVENTS_LIMIT = Parameter("limit", "At most so many, up to 1000; 100.", number=True)
_TYPE = Parameter("type", "Only these types: WorkloadAdmitted,WorkloadEvicted.")
_MONTH = Parameter("month", "The month, in UTC: 2026-03; default: the newest event's.")
_TEXT = Parameter("text", "A part of a name, of two characters at least.")
_TOPOLOGY = Parameter("of", "Only of this topology or flavor.")
_SET = Parameter("set", "What is otherwise: clusterqueue/team-a.cpu=40;policy.fairSharing=true.")
_FROM = Parameter("from", "It is otherwise from this event or time on, not before.")
_TO = Parameter("to", "Look no further than this event or time.")
EVENTS, ME = "/v1/events", "/v1/me"
WHY = Endpoint(
    path="/v1/workloads/{namespace}/{name}/why",
    about="Why a workload waits, runs or was stopped. The name is its own or its job's.",
    answer=shapes.Why,
    run=answers.answer_why,
    scope="workload",
    parameters=(_KIND, _DETAIL, _FORMAT, AS_OF),
)
ENDPOINTS = (
    WHY,
    Endpoint(
        path="/v1/workloads/{namespace}/{name}/why-not",
        about="What would have to change for a pending workload to start now.",
        answer=shapes.WhyNot,
        run=trials.answer_why_not,
        decides=True,
        scope="workload",
        parameters=(_KIND, AS_OF),
    ),
    Endpoint(
        path="/v1/namespaces/{namespace}/dry-run",
        about="Whether a job would start now, on which flavors, and what it would wait for.",
        answer=shapes.DryRun,
        run=trials.answer_dry_run,
        decides=True,
        scope="namespace",
        body_type="The manifest of one job, as JSON. Nothing is submitted.",
    ),
    Endpoint(
        path="/v1/what-if",
        about="The recorded jobs replayed under other quotas, priorities or policies.",
        answer=shapes.WhatIf,
        run=trials.answer_what_if,
        decides=True,
        scope="everything",
        parameters=(_SET, _FROM, _TO),
    ),
    Endpoint(
        path="/v1/queues",
        about="The ClusterQueues: how many wait and run, and why the first one waits.",
        answer=shapes.Queue,
        run=answers.answer_queues,
        moves="clock",
        scope="queues or namespace",
        parameters=(NAMESPACE, AS_OF),
        listed=True,
    ),
    Endpoint(
        path="/v1/positions",
        about="Positions of pending workloads, those ahead of each, and when each might start.",
        answer=shapes.Position,
        run=answers.answer_positions,
        moves="clock",
        decides=True,
        scope="namespace",
        parameters=(_QUEUE, NAMESPACE, AS_OF),
        listed=True,
    ),
    Endpoint(
        path="/v1/tree",
        about="The cohort trees: quota, usage, what is borrowed and what is lent.",
        answer=shapes.Node,
        run=answers.answer_tree,
        scope="queues",
        parameters=(_OF, AS_OF),
        listed=True,
    ),
    Endpoint(
        path="/v1/shares",
        about="The fair shares: what each node borrows of what it could, by its weight.",
        answer=shapes.Share,
        run=answers.answer_shares,
        scope="queues",
        parameters=(_OF, AS_OF),
        listed=True,
    ),
    Endpoint(
        path="/v1/usage",
        about="Nominal, used, borrowed and lent quota of each ClusterQueue, flavor and resource.",
        answer=shapes.Usage,
        run=answers.answer_usage,
        scope="queues",
        parameters=(_QUEUE, AS_OF),
        listed=True,
    ),
    Endpoint(
        path="/v1/running",
        about="The workloads that have quota: whose, since when, and how much of which flavor.",
        answer=view_shapes.Running,
        run=views.answer_running,
        scope="namespace",
        parameters=(_QUEUE, NAMESPACE, AS_OF),
        listed=True,
    ),
    Endpoint(
        path="/v1/budgets",
        about="The budgets: what is spent, and when all of it will be at this rate.",
        answer=view_shapes.Budget,
        run=views.answer_budgets,
        moves="clock",
        scope="queues",
        parameters=(AS_OF,),
        listed=True,
    ),
    Endpoint(
        path="/v1/topology",
        about="The domains of topologies, from the top: the usage of each, and its workloads.",
        answer=view_shapes.Place,
        run=views.answer_topology,
        scope="queues",
        parameters=(_TOPOLOGY, AS_OF),
        listed=True,
    ),
    Endpoint(
        path="/v1/costs",
        about="What each namespace used in a month, in full hours, and what that cost.",
        answer=view_shapes.Cost,
        run=views.answer_costs,
        scope="namespace",
        parameters=(_MONTH, NAMESPACE, AS_OF),
        listed=True,
    ),
    Endpoint(
        path="/v1/quota-use",
        about="What each ClusterQueue had in a month, used, borrowed and left unused.",
        answer=view_shapes.QuotaUse,
        run=views.answer_quota_use,
        scope="queues",
        parameters=(_MONTH, AS_OF),
        listed=True,
    ),
    Endpoint(
        path="/v1/search",
        about="Queues, Cohorts and workloads that are there and have a text in their names.",
        answer=view_shapes.Hit,
        run=views.answer_search,
        scope="namespace",
        parameters=(_TEXT, NAMESPACE, AS_OF),
        listed=True,
    ),
    Endpoint(
        path="/v1/reports",
        about="The SQL reports that there are.",
        answer=shapes.Report,
        run=answers.answer_reports,
        scope="anyone",
        listed=True,
    ),
    Endpoint(
        path="/v1/reports/{report}",
        about="The rows of a SQL report; its columns stand in docs/sql.md.",
        answer=dict[str, Any],
        run=answers.answer_report,
        scope="namespace",
        parameters=(NAMESPACE, AS_OF),
        listed=True,
        reports=True,
    ),
    Endpoint(
        path=EVENTS,
        about="Events of the ledger; with Accept: text/event-stream they go on as they come.",
        answer=list[view_shapes.Event],
        run=answers.answer_events,
        scope="namespace",
        parameters=(_AFTER, _EVENTS_LIMIT, _TYPE, _QUEUE, NAMESPACE, AS_OF),
    ),
    Endpoint(
        path="/v1/ledger",
        about="Which ledger it is, and how far it got.",
        answer=view_shapes.Ledger,
        run=answer_ledger,
        moves="index",
        scope="anyone",
    ),
    Endpoint(
        path=ME,
        about="Your user as the server knows it, and what you may see.",
        answer=shapes.Me,
        run=None,
        scope="anyone",
    ),
)
