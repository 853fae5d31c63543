// mio.cu's mix with four slots, and every ldmatrix kept (s takes one word of each): the turns of copy_ca.cu and mix_ends.cu, as text inside their kernels, so that both compile alike.
#define HM(c,a,b) asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};":"+f"(c[0]),"+f"(c[1]),"+f"(c[2]),"+f"(c[3]):"r"(a[0]),"r"(a[1]),"r"(a[2]),"r"(a[3]),"r"(b[0]),"r"(b[1]))
  for(int i=0;i<iters;i++){ uint32_t d=sd+(i&3)*4096;
    constexpr int N=(NH>NL?(NH>NG?NH:NG):(NL>NG?NL:NG));
    #pragma unroll
    for(int j=0;j<N;j++){ 
      if(j*NL/N!=(j+1)*NL/N){ uint32_t x,y,z,w; asm volatile("ldmatrix.sync.aligned.x4.m8n8.shared.b16 {%0,%1,%2,%3},[%4];":"=r"(x),"=r"(y),"=r"(z),"=r"(w):"r"(a+((j*NL/N)&7)*4096):"memory"); s^=x^w; }
      if(j*NG/N!=(j+1)*NG/N) asm volatile("cp.async.cg.shared.global [%0],[%1],16;"::"r"(d+((j*NG/N)&7)*512),"l"(gs+((j*NG/N)&7)*512+(size_t)(i&3)*65536):"memory");
      if(j*NH/N!=(j+1)*NH/N) HM(c[j&7],fa,fb); }
    if(NG) asm volatile("cp.async.commit_group; cp.async.wait_group 3;":::"memory");
    a+=zero; }
