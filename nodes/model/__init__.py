"""Behind rosbotran: `load` (mechanism and settings from parameters), `parameters` (live changes), `report` (what is told)."""
