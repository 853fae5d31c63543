// Words of instructions for load_stops.py. nvcc -std=c++17 -arch=sm_90a -cubin -o words.cubin load_stops_words.cu && cuobjdump -sass words.cubin > words.sass
#include <cstdint>

__global__ void k(uint32_t*o,const uint32_t*q){ extern __shared__ __align__(16) uint8_t sm[]; uint32_t b=(uint32_t)__cvta_generic_to_shared(sm)+threadIdx.x*16; uint32_t a0=q[0],a1=q[1],a2=q[2],a3=q[3],b0=q[4],b1=q[5],c0=q[6],c1=q[7],c2=q[8],c3=q[9];
 asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0,%1},{%2,%3,%4,%5},{%6,%7},{%0,%1};":"+r"(c0),"+r"(c1):"r"(a0),"r"(a1),"r"(a2),"r"(a3),"r"(b0),"r"(b1));
 asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3},{%4,%5},{%6},{%0,%1,%2,%3};":"+r"(c0),"+r"(c1),"+r"(c2),"+r"(c3):"r"(a0),"r"(a1),"r"(b0));
 asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};":"+r"(c0),"+r"(c1),"+r"(c2),"+r"(c3):"r"(a0),"r"(a1),"r"(a2),"r"(a3),"r"(b0),"r"(b1));
 asm volatile("mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3},{%4,%5},{%6},{%0,%1,%2,%3};":"+r"(c0),"+r"(c1),"+r"(c2),"+r"(c3):"r"(a0),"r"(a1),"r"(b0));
 asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};":"+r"(c0),"+r"(c1),"+r"(c2),"+r"(c3):"r"(a0),"r"(a1),"r"(a2),"r"(a3),"r"(b0),"r"(b1));
 asm volatile("mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 {%0,%1,%2,%3},{%4,%5},{%6},{%0,%1,%2,%3};":"+r"(c0),"+r"(c1),"+r"(c2),"+r"(c3):"r"(a0),"r"(a1),"r"(b0));
 uint32_t x,y,z,w; asm volatile("ld.shared.u32 %0,[%1+16];":"=r"(x):"r"(b)); c0^=x; asm volatile("ld.shared.v2.u32 {%0,%1},[%2+32];":"=r"(x),"=r"(y):"r"(b)); c1^=x^y; asm volatile("ld.shared.v4.u32 {%0,%1,%2,%3},[%4+48];":"=r"(x),"=r"(y),"=r"(z),"=r"(w):"r"(b)); c2^=x^y^z^w;
 asm volatile("ldmatrix.sync.aligned.x2.m8n8.shared.b16 {%0,%1},[%2+64];":"=r"(x),"=r"(y):"r"(b)); c3^=x^y; asm volatile("ldmatrix.sync.aligned.x1.m8n8.shared.b16 {%0},[%1+80];":"=r"(x):"r"(b)); c3^=x;
 float f=__uint_as_float(q[11]); f=f*f+1.5f; c3^=__float_as_uint(f);
 o[0]=c0;o[1]=c1;o[2]=c2;o[3]=c3; }
