"""Parts of road vehicles: tyres, wheel-ground contact, suspensions, steering, powertrain, and the numbers of one car."""
