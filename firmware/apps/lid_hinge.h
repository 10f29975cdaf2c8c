/* The place where the generated model of the hinge is plugged into its main loop. */
#ifndef LID_HINGE_H
#define LID_HINGE_H

/* Return the force in N that one rod at stroke r1, speed v1 needs to carry its share of the lid.
 * apps/lid_hinge.c has a weak one that returns 0; link a file that runs the generated C to replace it. It is called at
 * 400 Hz for each actuator (0 left, 1 right) and must return within 1 ms on the device. */
float lid_hinge_model(float r1_m, float v1_m_s, unsigned actuator);

#endif
