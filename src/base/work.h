/* Work: how much a step of a plan has to do, and into how many pieces that is worth cutting.
 *
 * Compiler and runtime ask here, so that what one expects is what the other does. By shape alone,
 * never by threads: results are the same bits for any number of them (docs/threads.md).
 */
#ifndef BASE_WORK_H
#define BASE_WORK_H

enum {
	/* Pieces that occupy the cores of any machine: nothing is cut finer, and no iterations are
	 * joined so that fewer are left. */
	WORK_PIECES = 16,
	/* A core does as many operations while it moves a byte from or to memory. */
	WORK_PER_BYTE = 10,
	/* Operations in a piece: some 30 us of a core. Measured (docs/measurements/2026-11-22.md,
	 * "Threads"): finer pieces gain no more, and each costs some 0.5 us. */
	WORK_PIECE = 2000000,
};

/* What takes longer, the operations or moving the bytes, in operations. */
static inline double
work_of(double operations, double bytes)
{
	double moved = WORK_PER_BYTE * bytes;
	return operations > moved ? operations : moved;
}

/* Pieces that so much work is worth: 1..WORK_PIECES. */
static inline int
work_pieces(double work)
{
	double pieces = work / WORK_PIECE;
	return pieces >= WORK_PIECES ? WORK_PIECES : pieces < 1 ? 1 : (int)pieces;
}

#endif
