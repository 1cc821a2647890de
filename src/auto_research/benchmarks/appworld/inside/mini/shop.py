"""Tasks in the shop, the one app that only the challenge set has."""

from __future__ import annotations

from random import Random

from auto_research.benchmarks.appworld.inside.mini.draft import (
    Change,
    Draft,
    Family,
    money,
    program,
)
from auto_research.benchmarks.appworld.inside.mini.plan import Person, World

WISHES = """
shop = sign_in("amazon")
wishes = apis.amazon.show_wish_list(access_token=shop)
"""


def wish_total(world: World, person: Person, rng: Random) -> Draft:
    """What the wish list would cost."""
    return Draft(
        "What would all the products on my Amazon wish list cost together, in the quantities that "
        "stand there, in dollars and before any fees?",
        program(
            WISHES + 'total = sum(row["price"] * row["quantity"] for row in wishes)\n'
            "apis.supervisor.complete_task(answer=round(total, 2))\n",
        ),
        answer=money(sum(product.price * count for product, count in person.wishes)),
    )


def cheap_to_cart(world: World, person: Person, rng: Random) -> Draft | None:
    """Move what is cheap from the wish list to the cart."""
    limit = rng.choice((10, 15, 20, 30, 40))
    cheap = [(product, count) for product, count in person.wishes if product.price < limit]
    if not 0 < len(cheap) < len(person.wishes):
        return None
    rows = [
        {"product.name": product.name, "quantity": count, "user.email": person.email}
        for product, count in cheap
    ]
    return Draft(
        f"Move every product that costs less than ${limit} apiece from my Amazon wish list to my "
        "cart, in the quantity that stands there.",
        program(
            WISHES + "for row in wishes:\n"
            '    if row["price"] < $limit:\n'
            "        apis.amazon.move_product_from_wish_list_to_cart(\n"
            '            product_id=row["product_id"],\n'
            '            quantity=row["quantity"],\n'
            "            access_token=shop,\n"
            "        )\n"
            "apis.supervisor.complete_task()\n",
            limit=limit,
        ),
        changes=(
            Change("amazon.CartEntry", "added", rows),
            Change("amazon.WishListEntry", "removed", rows),
        ),
    )


def kind_to_wishes(world: World, person: Person, rng: Random) -> Draft | None:
    """Wish for the dearest product of a kind that is not wished for yet."""
    wished = {product.number for product, _ in person.wishes}
    kind = rng.choice(sorted({product.kind for product in world.products}))
    left = [p for p in world.products if p.kind == kind and p.number not in wished]
    if len(left) < 2:
        return None
    best = max(left, key=lambda product: product.price)
    return Draft(
        f"Add the most expensive {kind} product on Amazon that is not on my wish list yet to my "
        "wish list. What is it called?",
        program(
            WISHES + 'known = {row["product_id"] for row in wishes}\n'
            "rows = every(apis.amazon.search_products, product_type=$kind)\n"
            'left = [row for row in rows if row["product_id"] not in known]\n'
            'best = max(left, key=lambda row: row["price"])\n'
            "apis.amazon.add_product_to_wish_list(\n"
            '    product_id=best["product_id"], quantity=1, access_token=shop\n'
            ")\n"
            'apis.supervisor.complete_task(answer=best["name"])\n',
            kind=kind,
        ),
        answer=best.name,
        changes=(
            Change(
                "amazon.WishListEntry",
                "added",
                [{"product.name": best.name, "quantity": 1, "user.email": person.email}],
            ),
        ),
    )


FAMILIES = (
    Family("wish-total", 1, ("amazon",), wish_total),
    Family("cheap-to-cart", 2, ("amazon",), cheap_to_cart),
    Family("kind-to-wishes", 3, ("amazon",), kind_to_wishes),
)
