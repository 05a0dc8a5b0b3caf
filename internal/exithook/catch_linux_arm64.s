#include "textflag.h"

// TRAP, ABRT, STKFLT and SYS are left to the runtime if they are about what the thread
// itself has done: the kernel has raised them, or abort in C has.
#define SYNCHRONOUS (1<<5 | 1<<6 | 1<<16 | 1<<31)
#define SI_TKILL -6

// The handler. The kernel calls it as C would, with the signal in R0, a siginfo in
// R1 and a context in R2, which must be intact for the runtime's handler.
TEXT caught<>(SB), NOSPLIT|NOFRAME, $0
	MOVD	$1, R3
	LSL	R0, R3, R3
	MOVWU	·wanted(SB), R4
	TST	R3, R4
	BEQ	runtime
	MOVD	$SYNCHRONOUS, R4
	TST	R3, R4
	BEQ	keep
	MOVW	8(R1), R4 // si_code, positive from the kernel
	CMPW	$0, R4
	BGT	runtime
	CMPW	$SI_TKILL, R4
	BEQ	runtime
keep:
	MOVD	$·passing(SB), R4
pass:
	LDAXRW	(R4), R5
	BICW	R3, R5, R6
	STLXRW	R6, (R4), R7
	CBNZ	R7, pass
	TSTW	R3, R5
	BNE	runtime
	MOVD	$·pending(SB), R4
pend:
	LDAXRW	(R4), R5
	ORRW	R3, R5, R5
	STLXRW	R5, (R4), R7
	CBNZ	R7, pend
	MOVD	·event(SB), R0
	MOVD	$one<>(SB), R1
	MOVD	$8, R2
	MOVD	$64, R8 // write
	SVC
	RET
runtime:
	MOVD	·runtimeHandler(SB), R3
	B	(R3)

DATA one<>+0(SB)/8, $1
GLOBL one<>(SB), RODATA|NOPTR, $8

// func handler() uintptr
TEXT ·handler(SB), NOSPLIT, $0-8
	MOVD	$caught<>(SB), R0
	MOVD	R0, ret+0(FP)
	RET
