/* A shared object of somebody else's. */
extern const int something;
const int something = 1;
