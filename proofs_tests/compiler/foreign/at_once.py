"""Kernels in which data decide whether two work-items reach one cell at once: bodies, and what is to be said of each.

A right one is validated, or unknown with its reason, and never refuted; a wrong one is refuted with inputs that show it.
The program doubles eight numbers x; some kernels are given eight whole numbers n beside them, which it does not use.
"""

from __future__ import annotations

RIGHT = {
"one datum says which of two writes": "if (i==0 && x[0]>0) y[0]=x[0]*2; if (i==1 && !(x[0]>0)) y[0]=x[0]*2; if (i>0) y[i]=x[i]*2;",
"one of a pair writes both cells": "int b = x[i & ~1] > 0; if ((i & 1) == b) { y[i] = x[i]*2; y[i^1] = x[i^1]*2; }",
"the larger of a pair": "int j=i&~1; int m = x[j] > x[j+1]; if ((i&1)==m) { y[j]=x[j]*2; y[j+1]=x[j+1]*2; }",
"a condition that never holds": "if (x[i] < -1 && x[i] > 1) y[0]=5; y[i]=x[i]*2;",
"a condition on numbers that never holds": "int k = n[i]; if ((k & 3) > 3) y[0]=5; y[i]=x[i]*2;",
"a square is never 2 modulo 4": "int k = n[i] & 255; if (k * k % 4 == 2) y[0]=5; y[i]=x[i]*2;",
"a number says who writes all": "int k = n[0] & 7; if (k == i) for (int j=0;j<8;j++) y[j]=x[j]*2;",
"who has the smallest writes all": "int m=0; for (int j=1;j<8;j++) if (x[j]<x[m]) m=j; if (i==m) for (int j=0;j<8;j++) y[j]=x[j]*2;",
"a store of another that never happens": "if (i==0 && x[3] > 3 && x[3] < 2) y[7]=1; y[i]=x[i]*2;",
"a load of another that never happens": "y[i]=x[i]*2; float t=0; if (x[i] < -1 && x[i] > 1) t=y[(i+1)&7]; if (t==1) y[i]=0;",
"parity that the kernel fixes": "int p = n[0]&1; int j = i ^ p; y[j]=x[j]*2;",
"a rotation by data": "int r=n[0]&7; int j=(i+r)&7; y[j]=x[j]*2;",
"an odd stride by data": "int r=(n[0]*2+1)&7; int j=(i*r)&7; y[j]=x[j]*2;",
"lid 0 tells the others": "local int f; if (get_local_id(0)==0) f = x[0] > 0; barrier(CLK_LOCAL_MEM_FENCE); if (f) y[i]=x[i]*2; else y[i]=x[i]+x[i];",
"one of a group tells the others": "local int f; int l=get_local_id(0); float a=x[i-l]; if (a>0 ? l==0 : l==3) f=1; barrier(CLK_LOCAL_MEM_FENCE); y[i]=f?x[i]*2:0;",
"either order in a tile": "local float t[4]; int l=get_local_id(0); float a = x[i-l]; if (a > 0) t[l] = x[i]; else t[3-l] = x[i-l+3-l]; barrier(CLK_LOCAL_MEM_FENCE); y[i]=t[l]*2;",
"a tile written either way, and copied": "local float t[4]; int l=get_local_id(0); if (x[i]>0) t[l]=x[i]*2; else t[l]=x[i]+x[i]; barrier(CLK_LOCAL_MEM_FENCE); event_t e=async_work_group_copy(y+i-l, t, 4, 0); wait_group_events(1, &e);",
"a place in a tile by data": "local float t[4]; int l=get_local_id(0); int r=n[0]&3; t[(l+r)&3]=x[i]; barrier(CLK_LOCAL_MEM_FENCE); y[i]=t[(l+r)&3]*2;",
"an update that never happens": "local int f; int l=get_local_id(0); if (l==0) f=0; barrier(CLK_LOCAL_MEM_FENCE); if (x[i]>0 && x[i]<0) atomic_or(&f,1); y[i]=f?x[i]*3:x[i]*2;",
"bits say who writes": "int k=n[0]; if ((k & 12) == 4 && i == 0) y[0]=x[0]*2; if ((k & 4) == 0 && i==1) y[0]=x[0]*2; if ((k & 12)==12 && i==2) y[0]=x[0]*2; if (i) y[i]=x[i]*2;",
"written under conditions, then in any case": "if (x[i]>0) if (x[i]>1) y[i]=1; if (!(x[i]>0) || !(x[i]>1)) y[i]=3; y[i]=x[i]*2;",
"a place that is checked": "float t[5]; for(int j=0;j<5;j++) t[j]=x[i]; int k=n[i]; y[i]= k>=0 && k<5 ? t[k]*2 : x[i]*2;",
}  # fmt: skip

WRONG = {
"both where two are equal": "int j=i&~1; if (i==j ? x[j] <= x[j+1] : x[j] >= x[j+1]) { y[j]=x[j]*2; y[j+1]=x[j+1]*2; }",
"nobody where two are equal": "int j=i&~1; if (i==j ? x[j] < x[j+1] : x[j] > x[j+1]) { y[j]=x[j]*2; y[j+1]=x[j+1]*2; }",
"several have the smallest": "int m=0; for (int j=1;j<8;j++) if (x[j]<x[m]) m=j; if (x[i]==x[m]) for (int j=0;j<8;j++) y[j]=x[j]*2;",
"a store that is rare": "if (i==0 && x[3] == 12345.5f) y[7]=x[7]*2; y[i]=x[i]*2;",
"a store behind the one of another group": "y[i]=x[i]*2; if (i==7 && x[3] > 1000) y[0]=x[0]*2;",
"a number that is rare": "y[i]=x[i]*2; if (n[i]==77) y[0]=x[0]*2;",
"a load that is rare": "y[i]=x[i]*2; float t=0; if (x[i] > 1000) t=y[(i+1)&7]*0; y[i]=x[i]*2+t;",
"parity of each": "int p = n[i]&1; int j = i ^ p; y[j]=x[j]*2;",
"a stride that may be even": "int r=(n[0]+1)&7; int j=(i*r)&7; y[j]=x[j]*2;",
"both ends of a range": "int k=n[0]; if (k <= 100 && i == 0) y[0]=x[0]*2; if (k >= 100 && i == 1) y[0]=x[0]*2; if (i) y[i]=x[i]*2;",
"between two ranges": "int k=n[0]; if (k < 100 && i == 0) y[0]=x[0]*2; if (k > 100 && i == 1) y[0]=x[0]*2; if (i) y[i]=x[i]*2;",
"both by a sum": "float s=0; for (int j=0;j<8;j++) s+=x[j]; if (s >= 1 && i==0) y[0]=x[0]*2; if (s <= 1 && i==1) y[0]=x[0]*2; if (i) y[i]=x[i]*2;",
"both tell the others": "local float f; float a=x[0]; int l=get_local_id(0); if (l==0 && a>=0) f=a; if (l==1 && !(a>0)) f=a; barrier(CLK_LOCAL_MEM_FENCE); y[i]=x[i]*2+f*0;",
"without the barrier": "local float t[4]; int l=get_local_id(0); float a = x[i-l]; if (a > 0) t[l] = x[i]; else t[3-l] = x[i-l+3-l]; y[i]=t[l]*2;",
"an update in any case beside one under a condition": "local int f; int l=get_local_id(0); float a=x[i-l]; if (l==0) f=0; barrier(CLK_LOCAL_MEM_FENCE); if (l==1 || (l==2 && a>0)) atomic_add(&f,1); if (l==3 && !(a>0)) f=5; y[i]=x[i]*2;",
"an update without the barrier": "local int f; int l=get_local_id(0); if (l==0) f=0; barrier(CLK_LOCAL_MEM_FENCE); if (x[i]>50) atomic_or(&f,1); y[i]=f?x[i]*2:x[i]+x[i];",
"a place that is hardly ever beyond": "float t[7]; for(int j=0;j<7;j++) t[j]=x[i]; y[i]=t[n[i]&7]*2;",
"a place that is checked by one too many": "float t[5]; for(int j=0;j<5;j++) t[j]=x[i]; int k=n[i]; y[i]= k>=0 && k<=5 ? t[k]*2 : x[i]*2;",
}  # fmt: skip
