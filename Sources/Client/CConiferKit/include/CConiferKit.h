/* Runs ConiferKit's Swift code when the program is loaded, before main: Swift has no such hook. */
#ifndef C_CONIFER_KIT_H
#define C_CONIFER_KIT_H

/* Defined in Swift, in ConiferKit. */
void conifer_kit_load(void);

#endif
