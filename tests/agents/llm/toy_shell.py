"""The toy world's process: one Python shell with a shop in it; a JSON line a piece of code."""

from __future__ import annotations

import io
import json
import sys
import traceback
from contextlib import redirect_stdout
from types import SimpleNamespace

from toy_stock import stock

PAGE = 3


class Shop:
    def __init__(self, task: str) -> None:
        self.goods, self.calls, self.answer, self.finished = stock(task), 0, None, False

    def show_goods(self, page: int) -> list[dict[str, object]]:
        self.calls += 1
        return self.goods[page * PAGE : (page + 1) * PAGE]

    def complete_task(self, answer: object = None) -> None:
        self.calls += 1
        self.answer, self.finished = answer, True


def main() -> None:
    shop = Shop(sys.argv[1])
    names: dict[str, object] = {"apis": SimpleNamespace(shop=shop, supervisor=shop)}
    for line in sys.stdin:
        before, failed, printed = shop.calls, False, io.StringIO()
        with redirect_stdout(printed):
            try:
                exec(compile(json.loads(line), "<shell>", "exec"), names)
            except Exception:
                failed = True
                printed.write(traceback.format_exc(limit=-1))
        told = {
            "text": printed.getvalue(),
            "failed": failed,
            "calls": shop.calls - before,
            "finished": shop.finished,
            "answer": shop.answer,
        }
        print(json.dumps(told), flush=True)


if __name__ == "__main__":
    main()
