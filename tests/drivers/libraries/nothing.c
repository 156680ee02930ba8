/* A library that is no driver. */
int mercutio_test_nothing(void);
int mercutio_test_nothing(void) { return 0; }
