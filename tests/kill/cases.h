/* CASE(module): a file of kill tests each, sorted. */
CASE(broker)
CASE(coordinator)
CASE(everything)
CASE(redis)
CASE(workers)
