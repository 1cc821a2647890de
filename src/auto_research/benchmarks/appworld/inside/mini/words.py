"""The words that the world is made of."""

PEOPLE = (
    ("Ada", "Okafor", "female"),
    ("Bruno", "Lindqvist", "male"),
    ("Carla", "Moreau", "female"),
    ("Dmitri", "Haddad", "male"),
    ("Elena", "Castillo", "female"),
    ("Farid", "Nakamura", "male"),
    ("Greta", "Silva", "female"),
    ("Hugo", "Brennan", "male"),
    ("Ines", "Kowalski", "female"),
    ("Jonas", "Mbeki", "male"),
    ("Kira", "Petrov", "female"),
    ("Luca", "Andersen", "male"),
)
ARTISTS = (
    "The Copper Lanterns",
    "Mira Vale",
    "Northbound Ferry",
    "Salt & Cinder",
    "Tomas Quill",
    "Velvet Orchard",
)
GENRES = ("pop", "jazz", "rock", "folk")
ADJECTIVES = ("Quiet", "Golden", "Broken", "Distant", "Electric", "Paper", "Crimson", "Hollow")
THINGS = ("River", "Window", "Summer", "Engine", "Harbor", "Letter", "Mirror", "Garden")
RELATIONSHIPS = ("roommate", "coworker", "friend", "sibling")
LISTS = ("Camping trip", "House move", "Birthday party", "Garden plan")
ERRANDS = (
    "buy candles",
    "call the plumber",
    "charge the torch",
    "clean the gutters",
    "collect the parcel",
    "fold the tents",
    "label the boxes",
    "mend the fence",
    "order the cake",
    "pack the stove",
    "rent a van",
    "water the ferns",
)
ALARMS = ("Gym", "School run", "Medicine", "Stand-up call")
JOBS = ("garden work", "piano lessons", "roof repair", "translation", "dog walking", "bookkeeping")
CHATTER = ("Lunch on Friday", "Holiday photos", "Lost umbrella", "Choir practice")
PAYMENTS = ("cinema", "groceries", "petrol", "pizza", "tickets", "electricity", "taxi", "flowers")
PROJECTS = ("Kitchen", "Thesis", "Allotment", "Band")
GROUPS = ("Ski weekend", "Shared flat", "Book club", "Road trip")
BUDGETS = ("rent", "food", "travel", "books", "phone", "sport")
DOWNLOADS = ("setup", "manual", "poster", "draft", "scan", "backup", "track", "map")
ENDINGS = (".tmp", ".pdf", ".zip", ".txt")
GOODS = (
    ("Walnut chopping board", "kitchen", 34.5),
    ("Steel whisk", "kitchen", 9.25),
    ("Enamel teapot", "kitchen", 27.0),
    ("Linen apron", "kitchen", 22.75),
    ("Desk lamp", "office", 41.2),
    ("Index cards", "office", 4.8),
    ("Fountain pen", "office", 56.0),
    ("Cork board", "office", 18.4),
    ("Trowel", "garden", 12.6),
    ("Seed tray", "garden", 7.3),
    ("Rain gauge", "garden", 15.9),
    ("Hose reel", "garden", 63.5),
)
