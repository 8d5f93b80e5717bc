#ifndef VOLUMES_H
#define VOLUMES_H

void spread(double ***in, double ***out, int n, int m, int l);
void counted(unsigned char ***v, int m, int l);

#endif
